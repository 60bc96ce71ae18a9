#include "lumos/model/kernels/collective.h"

#include <algorithm>
#include <cmath>

namespace lumos {
namespace {

constexpr double kBytesPerUsOfGb = 1e3;  // 1 GB/s is 1000 bytes per microsecond

/// Bandwidth and latencies of one way to run a collective, in NCCL's terms.
struct Path {
  double gb_per_s;  // at which every GPU sends
  double start_us;
  double ring_hop_us;  // mean over the steps of the ring
};

/// The protocol for large messages, or the one that trades bandwidth for latency (LL128).
enum class Protocol : uint8_t { kSimple, kLowLatency };

Path path_of(const GroupShape& group, const Cluster& cluster, Protocol protocol) {
  const NetworkTier& tier = group.nodes() == 1 ? cluster.node : cluster.fabric;
  const bool low = protocol == Protocol::kLowLatency;
  const double share = low ? tier.low_latency_fraction : 1;
  const double start_us = low ? tier.low_latency_us : tier.latency_us;
  if (group.nodes() == 1) return {share * cluster.node.gb_per_s, start_us, cluster.node.hop_us};
  // Rings leave a node once per network card that the group's members own. Members that share a node use all their
  // cards, so the ring is as fast as the links inside unless the cards are the limit.
  const double cards = static_cast<double>(std::min(group.per_node, group.size));
  const double crossing = 1.0 / cards;
  return {share * std::min(cluster.node.gb_per_s, cards * cluster.fabric.gb_per_s), start_us,
          crossing * cluster.fabric.hop_us + (1 - crossing) * cluster.node.hop_us};
}

/// Every byte crosses the limiting link `link_share` times and the GPU's own memory `copy_share` times.
double pass_us(double bytes, double link_share, double copy_share, const Path& path, const Cluster& cluster) {
  return bytes / kBytesPerUsOfGb * (link_share / path.gb_per_s + copy_share / cluster.reduce_gb_per_s);
}

double all_reduce_us(double bytes, const GroupShape& group, const Path& path, const Cluster& cluster) {
  const double n = static_cast<double>(group.size);
  const double ring = 2 * (n - 1) * path.ring_hop_us + pass_us(bytes, 2 * (n - 1) / n, 1, path, cluster);
  if (group.nodes() == 1) return ring;
  // NCCL's double binary tree over the nodes with a chain inside each; every byte goes up once and down once.
  const double levels = std::ceil(std::log2(static_cast<double>(group.nodes())));
  const double inside = static_cast<double>(group.per_node - 1);
  const double tree =
      2 * (levels * cluster.fabric.hop_us + inside * cluster.node.hop_us) + pass_us(bytes, 2, 1, path, cluster);
  return std::min(ring, tree);
}

/// Microseconds of a collective on one path.
double path_us(const Collective& collective, const Path& path, const Cluster& cluster) {
  const double n = static_cast<double>(collective.group.size);
  const double around = (n - 1) / n;
  const double bytes = collective.bytes;
  switch (collective.kind) {
    case CollectiveKind::kUnknown:  // the most common, and the slowest of those it may be
    case CollectiveKind::kAllReduce:
      return path.start_us + all_reduce_us(bytes, collective.group, path, cluster);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      // One of the two halves of an all-reduce.
      return path.start_us + (n - 1) * path.ring_hop_us + pass_us(bytes, around, 0.5, path, cluster);
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      return path.start_us + (n - 1) * path.ring_hop_us + pass_us(bytes, 1, 0.5, path, cluster);
    case CollectiveKind::kBarrier:
      return path.start_us + 2 * (n - 1) * path.ring_hop_us;
    case CollectiveKind::kSendRecv:
      return path.start_us + path.ring_hop_us + pass_us(bytes, 1, 0, path, cluster);
    case CollectiveKind::kAllToAll: {
      if (collective.group.nodes() == 1)
        return path.start_us + path.ring_hop_us + pass_us(bytes, around, 0, path, cluster);
      // Each GPU has its own card for what leaves the node.
      const double outside = (n - static_cast<double>(collective.group.per_node)) / n;
      return path.start_us + path.ring_hop_us +
             bytes / kBytesPerUsOfGb * std::max(outside / cluster.fabric.gb_per_s, around / cluster.node.gb_per_s);
    }
  }
  return 0;
}

}  // namespace

double collective_us(const Collective& collective, const Cluster& cluster) {
  if (collective.group.size <= 1) return 0;
  return std::min(path_us(collective, path_of(collective.group, cluster, Protocol::kSimple), cluster),
                  path_us(collective, path_of(collective.group, cluster, Protocol::kLowLatency), cluster));
}

double bus_gb_per_s(const Collective& collective, double time_us) {
  if (time_us <= 0) return 0;
  return collective.bytes / time_us / kBytesPerUsOfGb *
         bus_factor(collective.kind, static_cast<int32_t>(collective.group.size));
}

}  // namespace lumos

// How long a collective's transfer takes once its last rank has arrived: latency plus bytes over the bandwidth of the
// tier that limits it, for NCCL's ring and tree, inside a node and across nodes. Pure functions over plain structs;
// used by estimates, by lowering for shapes no trace has shown, and by calibration.
#pragma once

#include <cstdint>
#include <string_view>

#include "lumos/model/cluster.h"

namespace lumos {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kSendRecv,  ///< one message from one rank to another
  kAllToAll,
};

/// The ranks of a group as the network sees them: `size` members, `per_node` of them in each node they touch.
struct GroupShape {
  int64_t size = 1;
  int64_t per_node = 1;

  int64_t nodes() const { return (size + per_node - 1) / per_node; }
  bool operator==(const GroupShape&) const = default;
};

/// The shape of a group whose members are `stride` ranks apart on nodes of `gpus_per_node` ranks.
GroupShape group_shape(int64_t size, int64_t stride, int64_t gpus_per_node);

/// `bytes` is what NCCL's own tests call the size: the buffer of an all-reduce, broadcast or message, the whole
/// gathered or scattered tensor, everything one rank gives to an all-to-all.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  double bytes = 0;
  GroupShape group;
};

/// Microseconds of the transfer; 0 for a group of one. Grows with bytes and with the group. It assumes that every GPU
/// of the node communicates like this one, as in training: groups that are strided over a node share its network cards.
double collective_us(const Collective& collective, const Cluster& cluster);

/// NCCL's bus bandwidth is bytes / time (algbw) times this factor: 2(n-1)/n for all-reduce, (n-1)/n for all-gather,
/// reduce-scatter and all-to-all, else 1.
double bus_factor(CollectiveKind kind, int64_t group_size);

/// bytes / time x bus_factor, in 1e9 bytes per second; 0 when the time is 0.
double bus_gb_per_s(const Collective& collective, double time_us);

/// "all_reduce", "send_recv" ...
std::string_view collective_name(CollectiveKind kind);

}  // namespace lumos

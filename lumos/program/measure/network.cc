#include "lumos/program/measure/network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lumos/plan/optimizer.h"

namespace lumos {
namespace {

constexpr double kBytesPerUsOfGb = 1e3;  // 1 GB/s moves 1000 bytes in a microsecond

/// How often each byte crosses the limiting link. Where the switch adds up, a GPU sends its part once and receives the
/// sum once, with the n-th part that it passes on; NCCL takes that where it beats the ring.
double link_share(CommKind kind, double members, bool switch_sums) {
  switch (kind) {
    case CommKind::kAllReduce:
      return std::min(2 * (members - 1) / members, switch_sums ? 1 + 1 / members : 2.0);
    case CommKind::kAllGather:
    case CommKind::kReduceScatter:
      return (members - 1) / members;
    case CommKind::kBroadcast:
    case CommKind::kPointToPoint:
      break;
  }
  return 1;
}

/// How often each byte passes through the GPU's own memory to be summed or copied, as NCCL's kernels do.
double copy_share(CommKind kind) {
  if (kind == CommKind::kPointToPoint) return 0;
  return kind == CommKind::kAllReduce ? 1 : 0.5;
}

double ring_steps(CommKind kind, double members) {
  if (kind == CommKind::kPointToPoint) return 1;
  return (kind == CommKind::kAllReduce ? 2 : 1) * (members - 1);
}

/// A ring pays a hop per step; beyond a few members a tree pays one per level, which is what small messages use.
double latency_steps(CommKind kind, double members, double bytes) {
  constexpr double kSmallBytes = 1 << 20;
  const double ring = ring_steps(kind, members);
  if (bytes > kSmallBytes || kind == CommKind::kPointToPoint) return ring;
  const double tree = (kind == CommKind::kAllReduce ? 2 : 1) * std::ceil(std::log2(members));
  return std::min(ring, tree);
}

struct Observation {
  CommKind kind;
  double bytes;
  GroupSpan span;
  double us;
  bool measured;  ///< all members were traced, and so the split into waiting and transfer
};

/// Start, bytes over the links, bytes through the GPU's own memory.
using Row = std::array<double, 3>;

/// Non-negative least squares on relative errors, by coordinate descent; columns from `columns` on stay 0.
Row fit_non_negative(const std::vector<Row>& rows, const std::vector<double>& values, size_t columns) {
  constexpr int kSweeps = 5000;
  Row x{0, 0, 0};
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (size_t j = 0; j < columns; ++j) {
      double numerator = 0, denominator = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        const double weight = 1 / (values[i] * values[i]);
        double rest = values[i];
        for (size_t k = 0; k < columns; ++k)
          if (k != j) rest -= rows[i][k] * x[k];
        numerator += weight * rows[i][j] * rest;
        denominator += weight * rows[i][j] * rows[i][j];
      }
      x[j] = denominator > 0 ? std::max(0.0, numerator / denominator) : 0;
    }
  }
  return x;
}

/// Fits, leaves out what lies far above, and fits again: waiting that could not be told from transfer only ever adds.
Row fit_lower_side(const std::vector<Observation>& observations, const std::vector<Row>& rows,
                   const std::vector<double>& values, size_t columns) {
  constexpr double kFarAbove = 1.15;
  constexpr int kRounds = 4;
  Row x = fit_non_negative(rows, values, columns);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Row> kept_rows;
    std::vector<double> kept_values;
    for (size_t i = 0; i < rows.size(); ++i) {
      const double fitted = rows[i][0] * x[0] + rows[i][1] * x[1] + rows[i][2] * x[2];
      if (!observations[i].measured && values[i] > kFarAbove * fitted) continue;
      kept_rows.push_back(rows[i]);
      kept_values.push_back(values[i]);
    }
    if (kept_rows.size() < rows.size() / 2) break;
    x = fit_non_negative(kept_rows, kept_values, columns);
  }
  return x;
}

/// True when the kinds of large transfers can tell links and memory apart.
bool has_several_kinds(const std::vector<Observation>& observations) {
  constexpr double kLargeBytes = 8 << 20;
  bool reduces = false, others = false;
  for (const Observation& seen : observations) {
    if (seen.bytes < kLargeBytes) continue;
    (seen.kind == CommKind::kAllReduce ? reduces : others) = true;
  }
  return reduces && others;
}

bool sums_in_switches(const Program& program) {
  if (program.ranks.empty() || program.ranks.front().table->info.devices.empty()) return false;
  return has_summing_switches(program.ranks.front().table->info.devices.front().name);
}

/// Latency and bandwidth of one tier. A trace shows few group sizes, from which start and hop cannot be told apart:
/// their proportion stays that of the default tier. What a GPU's own memory costs is known
/// already when the fabric is fitted.
void fit_tier(std::vector<Observation> observations, bool fabric, Network* network) {
  Tier* tier = fabric ? &network->fabric : &network->node;
  const double hop_share = tier->latency_us > 0 ? tier->hop_us / tier->latency_us : 0;
  std::vector<Row> rows;
  std::vector<double> values;
  for (const Observation& seen : observations) {
    const auto members = static_cast<double>(seen.span.members);
    const double cards = fabric ? static_cast<double>(seen.span.per_node) : 1;
    const double copied = seen.bytes * copy_share(seen.kind) / kBytesPerUsOfGb;
    rows.push_back(
        {1 + hop_share * latency_steps(seen.kind, members, seen.bytes) / cards,
         seen.bytes * link_share(seen.kind, members, network->switch_sums && !fabric) / kBytesPerUsOfGb / cards,
         fabric ? 0 : copied});
    values.push_back(std::max(1e-3, seen.us - (fabric ? copied * network->copy_us_per_kb : 0)));
  }
  if (rows.empty()) return;
  // Large messages alone would take the differences between kinds for latency: one small message of the default tier
  // counts as seen.
  const double smallest_us = tier->latency_us + tier->hop_us;
  const bool with_smallest = smallest_us > 0;
  if (with_smallest) {
    observations.push_back({CommKind::kPointToPoint, 0, {2, 2}, smallest_us, true});
    rows.push_back({1 + hop_share, 0, 0});
    values.push_back(smallest_us);
  }
  Row x = fit_lower_side(observations, rows, values, !fabric && has_several_kinds(observations) ? 3 : 2);
  if (x[1] <= 0) x = fit_lower_side(observations, rows, values, 2);
  // Also where the sums were no numbers.
  if (!(x[1] > 0) || !std::isfinite(x[0] + x[1] + x[2])) return;
  tier->latency_us = x[0];
  tier->hop_us = x[0] * hop_share;
  tier->gb_per_s = 1 / x[1];
  if (!fabric) network->copy_us_per_kb = x[2];
  if (with_smallest) rows.pop_back();
  tier->observations = static_cast<int>(rows.size());
  double error = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    error += std::abs(rows[i][0] * x[0] + rows[i][1] * x[1] + rows[i][2] * x[2] - values[i]) / values[i];
  tier->error_pct = 100 * error / static_cast<double>(rows.size());
}

}  // namespace

// GPUs that NVLink 4 or later connects through switches which add up (NVLink SHARP). Cards of the same chips in PCIe
// slots ("NVIDIA H100 PCIe", "NVIDIA H200 NVL") have bridges at most, and other makers number their chips alike.
bool has_summing_switches(std::string_view device) {
  const auto has = [&](std::string_view part) { return device.find(part) != std::string_view::npos; };
  if (has("PCIe") || has("NVL") || has("RTX") || has("GH200")) return false;
  for (std::string_view chip : {"H100", "H200", "H800", "H20", "B100", "B200", "B300"})
    if (has(chip)) return true;
  return false;
}

double transfer_us(const Network& network, CommKind kind, double bytes, GroupSpan span) {
  if (span.members <= 1) return 0;
  const auto members = static_cast<double>(span.members);
  const bool crosses = span.crosses_nodes();
  const Tier& tier = crosses ? network.fabric : network.node;
  double gb_per_s = network.node.gb_per_s;
  double hop_us = tier.hop_us;
  if (crosses) {
    const auto cards = static_cast<double>(span.per_node);
    gb_per_s = std::min(network.node.gb_per_s, cards * network.fabric.gb_per_s);
    hop_us = network.fabric.hop_us / cards + network.node.hop_us * (1 - 1 / cards);
  }
  return tier.latency_us + hop_us * latency_steps(kind, members, bytes) +
         bytes / kBytesPerUsOfGb *
             (link_share(kind, members, network.switch_sums && !crosses) / gb_per_s +
              copy_share(kind) * network.copy_us_per_kb);
}

GroupSpan span_of(const Job& job, CommScope scope, int64_t stage, int64_t peer_stage) {
  switch (scope) {
    case CommScope::kTensor:
      return span_along(job, Axis::kTensor);
    case CommScope::kData:
      return span_along(job, Axis::kData);
    case CommScope::kShard:
      return span_of_shards(job);
    case CommScope::kReplicas:
      return span_of_shard_holders(job);
    case CommScope::kPipeline:
      return span_of_stages(job, stage, peer_stage);
    case CommScope::kEmbedding:
      return span_of_stages(job, 0, job.pipeline_model_parallel_size - 1);
    case CommScope::kModel:
      break;
  }
  return {job.world_size, std::min(job.world_size, job.gpus_per_node)};
}

double expected_bytes(const Job& job, CommScope scope, CommKind kind) {
  const double activation =
      static_cast<double>(job.micro_batch_size * job.seq_length * job.hidden_size * element_bytes(job));
  const auto tensor = static_cast<double>(job.tensor_model_parallel_size);
  switch (scope) {
    case CommScope::kTensor:
      return activation;
    case CommScope::kPipeline:
      return job.sequence_parallel ? activation / tensor : activation;
    case CommScope::kEmbedding:
      return static_cast<double>(padded_vocab_size(job) * job.hidden_size) / tensor * gradient_bytes(job);
    case CommScope::kData: {
      const double bucket = static_cast<double>(std::max<int64_t>(job.ddp_bucket_size, 1 << 20));
      return bucket * (kind == CommKind::kAllGather ? static_cast<double>(element_bytes(job)) : gradient_bytes(job));
    }
    case CommScope::kShard:
    case CommScope::kReplicas: {
      const double unit = static_cast<double>(unit_parameters(job, 0)) /
                          (scope == CommScope::kReplicas ? static_cast<double>(job.fsdp_shard_size) : 1);
      return unit * (kind == CommKind::kAllGather ? static_cast<double>(element_bytes(job)) : gradient_bytes(job));
    }
    case CommScope::kModel:
      break;
  }
  return 4;
}

Network network_of(const Cluster& cluster) {
  Network network;
  network.node = {cluster.node.latency_us, cluster.node.hop_us, cluster.node.gb_per_s, 0, 0};
  network.fabric = {cluster.fabric.latency_us, cluster.fabric.hop_us, cluster.fabric.gb_per_s, 0, 0};
  if (cluster.reduce_gb_per_s > 0) network.copy_us_per_kb = 1 / cluster.reduce_gb_per_s;
  return network;
}

Network default_network() {
  Network network;
  network.node = {6, 1, 300, 0, 0};
  network.fabric = {15, 5, 45, 0, 0};
  return network;
}

void bound_transfers(const Network& network, const Program& program, const Job& job,
                     std::vector<RankTransfers>* transfers) {
  // Waiting for others' kernels varies from one collective to the next; the model's own error and hosts that are apart
  // do not. Of waits that are half of a normal distribution, the mean is four fifths of this spread.
  constexpr double kMostSpreads = 3;
  using Equal = std::tuple<CommScope, CommKind, int64_t>;
  std::map<Equal, std::vector<int64_t>> equal;
  for (const RankTransfers& rank : *transfers)
    for (const Transfer& t : rank.transfers) equal[{t.scope, t.kind, t.bytes}].push_back(t.transfer_ns + t.wait_ns);
  std::map<Equal, int64_t> most_ns;
  for (auto& [key, durations] : equal) {
    std::sort(durations.begin(), durations.end());
    const int64_t spread_ns = durations[durations.size() * 4 / 5] - durations[durations.size() / 5];
    most_ns[key] = static_cast<int64_t>(kMostSpreads * static_cast<double>(spread_ns));
  }
  for (size_t r = 0; r < transfers->size(); ++r) {
    const int64_t stage = place_of(job, program.ranks[r].rank).stage;
    for (Transfer& transfer : (*transfers)[r].transfers) {
      if (transfer.complete || transfer.bytes <= 0 || transfer.scope == CommScope::kModel ||
          transfer.scope == CommScope::kPipeline)
        continue;
      const GroupSpan span = span_of(job, transfer.scope, stage, stage);
      const double most_us = transfer_us(network, transfer.kind, static_cast<double>(transfer.bytes), span);
      const int64_t excess = transfer.transfer_ns - static_cast<int64_t>(most_us * 1e3);
      if (excess <= 0) continue;
      transfer.transfer_ns -= excess;
      transfer.wait_ns += excess;
      transfer.steady_wait_ns = std::max<int64_t>(0, excess - most_ns[{transfer.scope, transfer.kind, transfer.bytes}]);
    }
  }
}

Network fit_network(const Program& program, const std::vector<RankTransfers>& transfers, const Job& job,
                    const Network& defaults) {
  std::map<std::tuple<CommScope, CommKind, int64_t, int64_t, bool, bool>, std::vector<double>> samples;
  for (size_t r = 0; r < transfers.size(); ++r) {
    const int64_t stage = place_of(job, program.ranks[r].rank).stage;
    for (const Transfer& transfer : transfers[r].transfers) {
      const int64_t bytes = transfer.bytes > 0
                                ? transfer.bytes
                                : static_cast<int64_t>(expected_bytes(job, transfer.scope, transfer.kind));
      // A collective over everything is mostly waiting; unless all of its members are traced it tells nothing.
      if (transfer.scope == CommScope::kModel && static_cast<int64_t>(transfers.size()) < job.world_size) continue;
      const bool staged = transfer.scope == CommScope::kPipeline;
      samples[{transfer.scope, transfer.kind, bytes, staged ? stage : 0, transfer.between_nodes, transfer.complete}]
          .push_back(static_cast<double>(transfer.transfer_ns) / 1e3);
    }
  }
  std::vector<Observation> inside, between;
  for (auto& [key, times] : samples) {
    auto [scope, kind, bytes, stage, between_nodes, measured] = key;
    const GroupSpan span =
        scope == CommScope::kPipeline ? GroupSpan{2, between_nodes ? 1 : 2} : span_of(job, scope, stage, stage);
    if (span.members <= 1) continue;
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    (span.crosses_nodes() ? between : inside)
        .push_back({kind, static_cast<double>(bytes), span, times[times.size() / 2], measured});
  }
  Network network = defaults;
  network.switch_sums = sums_in_switches(program);
  fit_tier(inside, false, &network);
  fit_tier(between, true, &network);
  return network;
}

}  // namespace lumos

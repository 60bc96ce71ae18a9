#include "lumos/program/network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace lumos {
namespace {

constexpr double kBytesPerUsOfGb = 1e3;  // 1 GB/s moves 1000 bytes in a microsecond

/// How often each byte crosses the limiting link.
double link_share(CommKind kind, double members) {
  switch (kind) {
    case CommKind::kAllReduce:
      return 2 * (members - 1) / members;
    case CommKind::kAllGather:
    case CommKind::kReduceScatter:
      return (members - 1) / members;
    case CommKind::kBroadcast:
    case CommKind::kPointToPoint:
      break;
  }
  return 1;
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
  bool matched;  ///< the split into waiting and transfer was measured
};

/// Non-negative least squares on relative errors for two unknowns, by coordinate descent.
std::array<double, 2> fit_non_negative(const std::vector<std::array<double, 2>>& rows,
                                       const std::vector<double>& values) {
  constexpr int kSweeps = 2000;
  std::array<double, 2> x{0, 0};
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (int j = 0; j < 2; ++j) {
      double numerator = 0, denominator = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        const double weight = 1 / (values[i] * values[i]);
        const double rest = values[i] - rows[i][1 - j] * x[1 - j];
        numerator += weight * rows[i][j] * rest;
        denominator += weight * rows[i][j] * rows[i][j];
      }
      x[j] = denominator > 0 ? std::max(0.0, numerator / denominator) : 0;
    }
  }
  return x;
}

/// Latency and bandwidth of one tier. A trace shows few group sizes, from which start and hop cannot be told apart:
/// their proportion stays that of the default tier.
void fit_tier(const std::vector<Observation>& observations, bool fabric, Tier* tier) {
  const double hop_share = tier->hop_us / tier->latency_us;
  std::vector<std::array<double, 2>> rows;
  std::vector<double> values;
  for (const Observation& seen : observations) {
    const auto members = static_cast<double>(seen.span.members);
    const double cards = fabric ? static_cast<double>(seen.span.per_node) : 1;
    rows.push_back({1 + hop_share * latency_steps(seen.kind, members, seen.bytes) / cards,
                    seen.bytes * link_share(seen.kind, members) / kBytesPerUsOfGb / cards});
    values.push_back(seen.us);
  }
  if (rows.empty()) return;
  // Waiting that could not be told from transfer only ever adds: what lies far above the fit is left out, and again.
  constexpr double kFarAbove = 1.15;
  std::array<double, 2> x = fit_non_negative(rows, values);
  auto fitted = [&](size_t i) { return rows[i][0] * x[0] + rows[i][1] * x[1]; };
  for (int round = 0; round < 4; ++round) {
    std::vector<std::array<double, 2>> kept_rows;
    std::vector<double> kept_values;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!observations[i].matched && values[i] > kFarAbove * fitted(i)) continue;
      kept_rows.push_back(rows[i]);
      kept_values.push_back(values[i]);
    }
    if (kept_rows.size() < rows.size() / 2) break;
    x = fit_non_negative(kept_rows, kept_values);
  }
  if (x[1] <= 0) return;
  tier->latency_us = x[0];
  tier->hop_us = x[0] * hop_share;
  tier->gb_per_s = 1 / x[1];
  tier->observations = static_cast<int>(rows.size());
  double error = 0;
  for (size_t i = 0; i < rows.size(); ++i) error += std::abs(fitted(i) - values[i]) / values[i];
  tier->error_pct = 100 * error / static_cast<double>(rows.size());
}

}  // namespace

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
         bytes * link_share(kind, members) / kBytesPerUsOfGb / gb_per_s;
}

GroupSpan span_of(const Job& job, CommScope scope, int64_t stage, int64_t peer_stage) {
  switch (scope) {
    case CommScope::kTensor:
      return span_along(job, Axis::kTensor);
    case CommScope::kData:
      return span_along(job, Axis::kData);
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
      return static_cast<double>(padded_vocab_size(job) * job.hidden_size) / tensor * (job.grad_reduce_in_fp32 ? 4 : 2);
    case CommScope::kData: {
      const double bucket = static_cast<double>(std::max<int64_t>(job.ddp_bucket_size, 1 << 20));
      return bucket * (kind == CommKind::kAllGather || !job.grad_reduce_in_fp32 ? 2 : 4);
    }
    case CommScope::kModel:
      break;
  }
  return 4;
}

Network default_network() {
  Network network;
  network.node = {6, 1, 300, 0, 0};
  network.fabric = {15, 5, 45, 0, 0};
  return network;
}

void bound_transfers(const Network& network, const Program& program, const Job& job,
                     std::vector<RankTransfers>* transfers) {
  for (size_t r = 0; r < transfers->size(); ++r) {
    const int64_t stage = place_of(job, program.ranks[r].rank).stage;
    for (Transfer& transfer : (*transfers)[r].transfers) {
      if (transfer.matched || transfer.bytes <= 0 || transfer.scope == CommScope::kModel ||
          transfer.scope == CommScope::kPipeline)
        continue;
      const GroupSpan span = span_of(job, transfer.scope, stage, stage);
      const double most_us = transfer_us(network, transfer.kind, static_cast<double>(transfer.bytes), span);
      const int64_t excess = transfer.transfer_ns - static_cast<int64_t>(most_us * 1e3);
      if (excess <= 0) continue;
      transfer.transfer_ns -= excess;
      transfer.wait_ns += excess;
    }
  }
}

Network fit_network(const Program& program, const std::vector<RankTransfers>& transfers, const Job& job,
                    const Network& defaults) {
  std::map<std::tuple<CommScope, CommKind, int64_t, int64_t, bool>, std::vector<double>> samples;
  for (size_t r = 0; r < transfers.size(); ++r) {
    const int64_t stage = place_of(job, program.ranks[r].rank).stage;
    for (const Transfer& transfer : transfers[r].transfers) {
      const int64_t bytes = transfer.bytes > 0
                                ? transfer.bytes
                                : static_cast<int64_t>(expected_bytes(job, transfer.scope, transfer.kind));
      // A collective over everything is mostly waiting; unless all of its members are traced it tells nothing.
      if (transfer.scope == CommScope::kModel && static_cast<int64_t>(transfers.size()) < job.world_size) continue;
      const bool staged = transfer.scope == CommScope::kPipeline;
      samples[{transfer.scope, transfer.kind, bytes, staged ? stage : 0, transfer.matched}].push_back(
          static_cast<double>(transfer.transfer_ns) / 1e3);
    }
  }
  std::vector<Observation> inside, between;
  for (auto& [key, times] : samples) {
    auto [scope, kind, bytes, stage, matched] = key;
    const int64_t peer = stage + 1 < job.pipeline_model_parallel_size ? stage + 1 : stage - 1;
    const GroupSpan span = span_of(job, scope, stage, peer);
    if (span.members <= 1) continue;
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    (span.crosses_nodes() ? between : inside)
        .push_back({kind, static_cast<double>(bytes), span, times[times.size() / 2], matched});
  }
  Network network = defaults;
  fit_tier(inside, false, &network.node);
  fit_tier(between, true, &network.fabric);
  return network;
}

}  // namespace lumos

#include "lumos/program/retime.h"

#include <algorithm>
#include <cmath>

#include "lumos/model/attention.h"
#include "lumos/model/gemm.h"
#include "lumos/model/parameters.h"
#include "lumos/program/kernel_roles.h"

namespace lumos {
namespace {

/// Products of one linear layer or the head on one rank.
GemmShape gemm_shape(const Job& job, RoleOf role) {
  const int64_t tokens = job.micro_batch_size * job.seq_length;
  const int64_t tensor = job.tensor_model_parallel_size;
  const int64_t queries = job.num_attention_heads * job.kv_channels / tensor;
  const int64_t keys = job.num_query_groups * job.kv_channels / tensor;
  int64_t in = job.hidden_size, out = job.hidden_size;
  switch (role.role) {
    case KernelRole::kQkv:
      out = queries + 2 * keys;
      break;
    case KernelRole::kProjection:
      in = queries;
      break;
    case KernelRole::kFc1:
      out = job.ffn_hidden_size / tensor * (job.swiglu ? 2 : 1);
      break;
    case KernelRole::kFc2:
      in = job.ffn_hidden_size / tensor;
      break;
    case KernelRole::kLogits:
      out = padded_vocab_size(job) / tensor;
      break;
    default:
      break;
  }
  switch (role.part) {
    case GemmPart::kForward:
      return {tokens, out, in};
    case GemmPart::kInputGradient:
      return {tokens, in, out};
    case GemmPart::kWeightGradient:
      break;
  }
  return {out, in, tokens};
}

double layer_gemm_flops(const Job& job) {
  double flops = 0;
  for (KernelRole role : {KernelRole::kQkv, KernelRole::kProjection, KernelRole::kFc1, KernelRole::kFc2})
    flops += gemm_flops(gemm_shape(job, {role, GemmPart::kForward}));
  return flops;
}

AttentionShape attention_shape(const Job& job) {
  AttentionShape shape;
  shape.batch = job.micro_batch_size;
  shape.query_length = shape.key_length = job.seq_length;
  shape.heads = job.num_attention_heads / job.tensor_model_parallel_size;
  shape.key_heads = job.num_query_groups / job.tensor_model_parallel_size;
  shape.head_size = job.kv_channels;
  return shape;
}

/// Work of an attention kernel: its FLOPs, more where its blocks (128 queries of a head each) leave multiprocessors
/// without work in the last wave. Long rows of blocks hide half of that.
double attention_work(const Job& job, int64_t multiprocessors) {
  constexpr int64_t kQueriesPerBlock = 128;
  const AttentionShape shape = attention_shape(job);
  const double blocks =
      static_cast<double>(shape.batch * shape.heads * ((shape.query_length + kQueriesPerBlock - 1) / kQueriesPerBlock));
  const double waves = blocks / static_cast<double>(multiprocessors);
  return attention_flops(shape) * 0.5 * (std::ceil(waves) + std::max(1.0, waves)) / waves;
}

/// What the bytes of a memory-bound kernel are proportional to.
double memory_size(const Job& job, KernelRole role) {
  const auto tokens = static_cast<double>(job.micro_batch_size * job.seq_length);
  const auto tensor = static_cast<double>(job.tensor_model_parallel_size);
  switch (role) {
    case KernelRole::kHidden:
      return tokens * static_cast<double>(job.hidden_size) / (job.sequence_parallel ? tensor : 1);
    case KernelRole::kHeads:
      return tokens * static_cast<double>((job.num_attention_heads + 2 * job.num_query_groups) * job.kv_channels) /
             tensor;
    case KernelRole::kFfn:
      return tokens * static_cast<double>(job.ffn_hidden_size) / tensor;
    case KernelRole::kVocabulary:
      return tokens * static_cast<double>(padded_vocab_size(job)) / tensor;
    case KernelRole::kWeights:
      return static_cast<double>(layer_parameters(job));
    case KernelRole::kEmbedding:
      return static_cast<double>(word_embedding_parameters(job));
    case KernelRole::kOptimizer:
      return static_cast<double>(layer_parameters(job)) /
             static_cast<double>(job.use_distributed_optimizer ? job.data_parallel_size : 1);
    default:
      return 1;
  }
}

/// Bytes of a collective's buffer, relative.
double communication_size(const Job& job, const Transfer& transfer) {
  if (transfer.scope == CommScope::kData && transfer.kind != CommKind::kAllReduce)
    return static_cast<double>(layer_parameters(job));
  if (transfer.scope == CommScope::kData && transfer.bytes > (1 << 20))
    return static_cast<double>(layer_parameters(job));
  return expected_bytes(job, transfer.scope, transfer.kind);
}

class Retimer {
 public:
  Retimer(const Recovery& recovery, const Job& target, const Network& network, const RetimeOptions& options)
      : recovery_(recovery), base_(recovery.job), target_(target), network_(network), options_(options) {}

  std::vector<int64_t> run(size_t r) {
    const RankProgram& rank = recovery_.program.ranks[r];
    const std::vector<RoleOf> roles = find_roles(rank);
    gpu_ = fitted_gpu(rank, roles);
    floor_us_ = shortest_kernel_us(rank);
    std::vector<int64_t> durations;
    durations.reserve(rank.tasks.size());
    for (const BlockTask& task : rank.tasks) durations.push_back(changed(r, rank, roles, task));
    return durations;
  }

 private:
  int64_t changed(size_t r, const RankProgram& rank, const std::vector<RoleOf>& roles, const BlockTask& task) const {
    if (task.event == kNoIndex || !is_gpu_task(task.kind) || task.kind == TaskKind::kArrive) return task.duration_ns;
    if (task.kind == TaskKind::kTransfer) {
      const uint32_t index = recovery_.transfers[r].of_row[task.event];
      return index == kNoIndex ? task.duration_ns : changed_transfer(r, recovery_.transfers[r].transfers[index]);
    }
    const uint32_t launch = rank.recovered.list.launch_of_row[task.event];
    if (launch == kNoIndex) return task.duration_ns;
    return scaled(task.duration_ns, roles[launch]);
  }

  int64_t scaled(int64_t duration_ns, RoleOf role) const {
    switch (role.role) {
      case KernelRole::kOther:
      case KernelRole::kCommunication:
        return duration_ns;
      case KernelRole::kQkv:
      case KernelRole::kProjection:
      case KernelRole::kFc1:
      case KernelRole::kFc2:
      case KernelRole::kLogits: {
        const GemmShape before = gemm_shape(base_, role), after = gemm_shape(target_, role);
        if (before == after) return duration_ns;
        return static_cast<int64_t>(static_cast<double>(duration_ns) * gemm_us(after, gpu_) / gemm_us(before, gpu_));
      }
      case KernelRole::kOtherGemm:
        return static_cast<int64_t>(static_cast<double>(duration_ns) * layer_gemm_flops(target_) /
                                    layer_gemm_flops(base_));
      case KernelRole::kAttention:
        return above_floor(duration_ns, attention_work(target_, gpu_.sm_count) / attention_work(base_, gpu_.sm_count));
      default:
        return above_floor(duration_ns, memory_size(target_, role.role) / memory_size(base_, role.role));
    }
  }

  /// Every kernel takes at least what the shortest takes; only what is above grows with its work.
  int64_t above_floor(int64_t duration_ns, double ratio) const {
    const auto floor_ns = static_cast<double>(floor_us_ * 1e3);
    const double above = std::max(0.0, static_cast<double>(duration_ns) - floor_ns);
    return static_cast<int64_t>(static_cast<double>(duration_ns) - above + above * ratio);
  }

  int64_t changed_transfer(size_t r, const Transfer& transfer) const {
    const int64_t stage = recovery_.places[r].stage;
    const GroupSpan before = span_of(base_, transfer.scope, stage, stage);
    const GroupSpan after = span_of(target_, transfer.scope, stage, stage);
    const double old_bytes =
        transfer.bytes > 0 ? static_cast<double>(transfer.bytes) : expected_bytes(base_, transfer.scope, transfer.kind);
    const double new_bytes = old_bytes * communication_size(target_, transfer) / communication_size(base_, transfer);
    if (transfer.added) return static_cast<int64_t>(1e3 * transfer_us(network_, transfer.kind, new_bytes, after));
    double transfer_ratio = 1;
    if (!(before == after) || new_bytes != old_bytes) {
      const double old_us = transfer_us(network_, transfer.kind, old_bytes, before);
      if (old_us > 0) transfer_ratio = transfer_us(network_, transfer.kind, new_bytes, after) / old_us;
    }
    double spread = 1;
    if (options_.variability && expected_maximum(before.members) > 0)
      spread = expected_maximum(after.members) / expected_maximum(before.members);
    const double period = transfer.scope == CommScope::kData ? options_.sync_period_ratio : layer_time_ratio();
    const double wait = static_cast<double>(transfer.wait_ns) * spread * period;
    return static_cast<int64_t>(static_cast<double>(transfer.transfer_ns) * transfer_ratio + wait);
  }

  /// Tensor-parallel ranks wait for each other in every layer, longer where there is more to compute between.
  double layer_time_ratio() const {
    auto flops = [](const Job& job) { return layer_gemm_flops(job) + attention_flops(attention_shape(job)); };
    return flops(target_) / flops(base_);
  }

  static double shortest_kernel_us(const RankProgram& rank) {
    std::vector<int64_t> durations;
    for (const BlockTask& task : rank.tasks)
      if (task.kind == TaskKind::kKernel) durations.push_back(task.duration_ns);
    if (durations.empty()) return 0;
    auto low = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 50);
    std::nth_element(durations.begin(), low, durations.end());
    return static_cast<double>(*low) / 1e3;
  }

  /// A GPU whose constants reproduce the traced GEMMs: only ratios of its times are used.
  Gpu fitted_gpu(const RankProgram& rank, const std::vector<RoleOf>& roles) const {
    Gpu gpu;
    const auto& devices = rank.table->info.devices;
    gpu.sm_count = devices.empty() || devices[0].num_sms <= 0 ? kUsualMultiprocessors : devices[0].num_sms;
    gpu.gemm_peak_fraction = 1;
    gpu.memory_peak_fraction = 1;
    gpu.memory_gb_per_s = kUsualMemoryGbPerS;
    gpu.kernel_floor_us = 0;
    double best_error = INFINITY;
    const std::vector<TracedGemm> seen = traced_gemms(rank, roles);
    Gpu best = gpu;
    best.matrix_tflops = 500;
    for (double start_us : {0.0, 0.5, 1.0, 2.0, 4.0, 8.0}) {
      gpu.gemm_tile_start_us = start_us;
      for (double tflops = 20; tflops < 3000; tflops *= 1.02) {
        gpu.matrix_tflops = tflops;
        const double error = fit_error(seen, gpu);
        if (error >= best_error) continue;
        best_error = error;
        best = gpu;
      }
    }
    return best;
  }

  struct TracedGemm {
    GemmShape shape;
    GemmPart part;
    double us = 0;
    int count = 0;
  };

  /// Products that add to a gradient of 32 bits are slower than others: each part of a linear layer may be off by a
  /// factor of its own, which counts little. Ratios of times are what is wanted.
  static double fit_error(const std::vector<TracedGemm>& seen, const Gpu& gpu) {
    constexpr double kFactorWeight = 0.1;
    double sum[3] = {0, 0, 0}, count[3] = {0, 0, 0}, error = 0;
    std::vector<double> off;
    for (const TracedGemm& one : seen) {
      off.push_back(std::log(gemm_us(one.shape, gpu) / one.us));
      sum[static_cast<int>(one.part)] += off.back();
      ++count[static_cast<int>(one.part)];
    }
    for (size_t i = 0; i < seen.size(); ++i) {
      const int part = static_cast<int>(seen[i].part);
      error += std::abs(off[i] - sum[part] / count[part]) + kFactorWeight * std::abs(off[i]);
    }
    return error;
  }

  std::vector<TracedGemm> traced_gemms(const RankProgram& rank, const std::vector<RoleOf>& roles) const {
    std::vector<TracedGemm> seen;
    for (const BlockTask& task : rank.tasks) {
      if (task.kind != TaskKind::kKernel || task.event == kNoIndex) continue;
      const uint32_t launch = rank.recovered.list.launch_of_row[task.event];
      if (launch == kNoIndex || roles[launch].role > KernelRole::kLogits) continue;
      const GemmShape shape = gemm_shape(base_, roles[launch]);
      auto found = std::find_if(seen.begin(), seen.end(), [&](const TracedGemm& one) {
        return one.shape == shape && one.part == roles[launch].part;
      });
      if (found == seen.end()) found = seen.insert(seen.end(), {shape, roles[launch].part});
      found->us += static_cast<double>(task.duration_ns) / 1e3;
      ++found->count;
    }
    for (TracedGemm& one : seen) one.us /= one.count;
    return seen;
  }

  /// Where the trace has no device properties.
  static constexpr int64_t kUsualMultiprocessors = 132;
  static constexpr double kUsualMemoryGbPerS = 3000;

  const Recovery& recovery_;
  const Job& base_;
  const Job& target_;
  const Network& network_;
  const RetimeOptions& options_;
  Gpu gpu_;
  double floor_us_ = 0;
};

}  // namespace

double expected_maximum(int64_t n) {
  if (n <= 1) return 0;
  // Blom's approximation of the largest normal order statistic, by inverting the normal distribution with bisection.
  const double p = (static_cast<double>(n) - 0.375) / (static_cast<double>(n) + 0.25);
  double low = 0, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return low;
}

TaskDurations retime(const Recovery& recovery, const Job& target, const Network& network,
                     const RetimeOptions& options) {
  TaskDurations durations;
  for (size_t r = 0; r < recovery.program.ranks.size(); ++r)
    durations.push_back(Retimer(recovery, target, network, options).run(r));
  return durations;
}

}  // namespace lumos

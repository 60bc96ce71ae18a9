#include "lumos/program/change/retime.h"

#include <algorithm>
#include <utility>

#include "lumos/model/kernels/attention.h"
#include "lumos/model/kernels/expected_maximum.h"
#include "lumos/model/kernels/gemm.h"
#include "lumos/plan/make_plan.h"
#include "lumos/plan/optimizer.h"
#include "lumos/plan/parameters.h"
#include "lumos/program/blocks/kernel_roles.h"
#include "lumos/program/measure/beside_transfers.h"
#include "lumos/program/measure/host_lags.h"

namespace lumos {
namespace {

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
  shape.element_bytes = element_bytes(job);
  return shape;
}

/// The two products of attention that is not fused: queries with keys, scores with values. Those backward are of the
/// same shapes.
double attention_products_us(const Job& job, const Gpu& gpu) {
  const AttentionShape whole = attention_shape(job);
  GemmShape scores{whole.query_length, whole.key_length, whole.head_size, whole.batch * whole.heads};
  scores.element_bytes = whole.element_bytes;
  GemmShape values = scores;
  std::swap(values.n, values.k);
  return gemm_us(scores, gpu) + gemm_us(values, gpu);
}

/// What the time of FLOPs grows with when the type of numbers changes.
double time_per_flop(const Job& job, const Gpu& gpu) { return 1 / peak_tflops(gpu, element_bytes(job)); }

/// What a job's plan counts, once.
struct Counts {
  explicit Counts(const Job& job) : Counts(job, plan_of(job, job.gpus_per_node)) {}
  Counts(const Job& job, const Plan& plan)
      : layer(static_cast<double>(layer_parameters(plan))),
        words(static_cast<double>(word_embedding_parameters(plan))),
        optimizer_bytes(optimizer_bytes_per_parameter(job, plan) / plan.resident.optimizer) {}

  double layer;            ///< parameters of one layer on one rank
  double words;            ///< of the word embedding
  double optimizer_bytes;  ///< that an update moves, per parameter that a rank holds
};

/// What the bytes of a memory-bound kernel are proportional to.
double memory_size(const Job& job, const Counts& counts, KernelRole role) {
  const auto tokens = static_cast<double>(job.micro_batch_size * job.seq_length * element_bytes(job));
  const auto tensor = static_cast<double>(job.tensor_model_parallel_size);
  switch (role) {
    case KernelRole::kHidden:
      return tokens * static_cast<double>(job.hidden_size) / (job.sequence_parallel ? tensor : 1);
    case KernelRole::kScores:
      return tokens * static_cast<double>(job.num_attention_heads * job.seq_length) / tensor;
    case KernelRole::kHeads:
      return tokens * static_cast<double>((job.num_attention_heads + 2 * job.num_query_groups) * job.kv_channels) /
             tensor;
    case KernelRole::kFfn:
      return tokens * static_cast<double>(job.ffn_hidden_size) / tensor;
    case KernelRole::kVocabulary:
      return tokens * static_cast<double>(padded_vocab_size(job)) / tensor;
    case KernelRole::kWeights:
      return counts.layer * gradient_bytes(job);
    case KernelRole::kEmbedding:
      return counts.words * static_cast<double>(element_bytes(job));
    case KernelRole::kOptimizer:
      return counts.optimizer_bytes;  // times parameters
    default:
      return 1;
  }
}

/// Parameters that a rank holds, in the mean over the stages.
double rank_parameters(const Job& job) {
  return static_cast<double>(model_parameters(job)) /
         static_cast<double>(job.tensor_model_parallel_size * job.pipeline_model_parallel_size);
}

/// Bytes per parameter that a replica's collective moves; 0 where it moves none of them (a loss, a flag).
double bytes_per_parameter(const Job& job, const Transfer& transfer) {
  if (transfer.kind == CommKind::kAllGather) return static_cast<double>(element_bytes(job));
  return moves_parameters(transfer) ? gradient_bytes(job) : 0;
}

class Retimer {
 public:
  Retimer(const Recovery& recovery, const Job& target, const Network& network, const RetimeOptions& options)
      : recovery_(recovery),
        base_(recovery.job),
        target_(target),
        network_(network),
        options_(options),
        base_counts_(base_),
        target_counts_(target_) {}

  const std::vector<int64_t>& waiting() const { return waiting_ns_; }
  const std::vector<int64_t>& behind() const { return behind_ns_; }

  std::vector<int64_t> run(size_t r) {
    const RankProgram& rank = recovery_.program.ranks[r];
    const std::vector<RoleOf>& roles = recovery_.roles[r];
    gpu_ = recovery_.kernels[r];
    std::vector<int64_t> durations;
    durations.reserve(rank.tasks.size());
    waiting_ns_.assign(rank.tasks.size(), 0);
    behind_ns_.assign(rank.tasks.size(), 0);
    stage_ratio_ = stage_size_ratio(r);
    for (const BlockTask& task : rank.tasks) durations.push_back(changed(rank, roles, task));
    const std::vector<BesideTransfer> beside = beside_transfers(rank, recovery_.transfers[r], durations);
    for (size_t i = 0; i < rank.tasks.size(); ++i) {
      const uint32_t index = transfer_of(r, rank.tasks[i]);
      if (index == kNoIndex) continue;
      const auto [moving_ns, waiting_ns] = changed_transfer(r, recovery_.transfers[r].transfers[index], beside[index]);
      const bool apart = recovery_.transfers[r].transfers[index].scope == CommScope::kData &&
                         beside[index].when_ready && follows_kernel(rank, i) &&
                         waiting_ns < INT32_MAX;  // the lag of an edge has 32 bits
      (apart ? behind_ns_ : waiting_ns_)[i] = static_cast<int64_t>(waiting_ns);
      durations[i] = static_cast<int64_t>(moving_ns + (apart ? 0 : waiting_ns));
    }
    return durations;
  }

 private:
  int64_t changed(const RankProgram& rank, const std::vector<RoleOf>& roles, const BlockTask& task) const {
    if (task.event == kNoIndex || !is_gpu_task(task.kind) || task.kind == TaskKind::kArrive) return task.duration_ns;
    if (task.kind == TaskKind::kTransfer) return task.duration_ns;  // once those beside it are known
    const uint32_t launch = rank.recovered.list.launch_of_row[task.event];
    if (launch == kNoIndex) return task.duration_ns;
    return scaled(task.duration_ns, roles[launch], rank.recovered.labels[launch].phase);
  }

  /// Index of what a task transfers; kNoIndex: nothing that is known.
  uint32_t transfer_of(size_t r, const BlockTask& task) const {
    return task.kind == TaskKind::kTransfer && task.event != kNoIndex ? recovery_.transfers[r].of_row[task.event]
                                                                      : kNoIndex;
  }

  /// Whether the arrival of transfer task `i` waits for another stream.
  static bool follows_kernel(const RankProgram& rank, size_t i) {
    const auto block = std::partition_point(rank.blocks.begin(), rank.blocks.end(),
                                            [&](const Block& each) { return each.task_end <= i; });
    const BlockTask* arrival = arrival_of_transfer(rank, *block, rank.tasks[i]);
    if (arrival == nullptr) return false;
    return std::any_of(rank.edges.begin() + arrival->edge_begin, rank.edges.begin() + arrival->edge_end,
                       [](const BlockEdge& edge) { return edge.kind == EdgeKind::kInterStream; });
  }

  int64_t scaled(int64_t duration_ns, RoleOf role, Phase phase) const {
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
        const double accumulated_ns = role.part == GemmPart::kWeightGradient ? accumulated_more_ns(after) : 0;
        if (before == after && accumulated_ns == 0) return duration_ns;
        const double ns = static_cast<double>(duration_ns) * gemm_us(after, gpu_) / gemm_us(before, gpu_);
        return static_cast<int64_t>(std::max(0.5 * ns, ns + accumulated_ns));
      }
      case KernelRole::kOtherGemm:
        return static_cast<int64_t>(static_cast<double>(duration_ns) * layer_gemm_flops(target_) *
                                    time_per_flop(target_, gpu_) /
                                    (layer_gemm_flops(base_) * time_per_flop(base_, gpu_)));
      case KernelRole::kAttention: {
        const bool backward = phase == Phase::kBackward;
        return above_floor(duration_ns, fused_attention_us(target_, backward) / fused_attention_us(base_, backward));
      }
      case KernelRole::kAttentionProduct:
        return static_cast<int64_t>(static_cast<double>(duration_ns) * attention_products_us(target_, gpu_) /
                                    attention_products_us(base_, gpu_));
      case KernelRole::kOptimizer:
        return above_floor(duration_ns, stage_ratio_ * memory_ratio(role.role));
      default:
        return above_floor(duration_ns, memory_ratio(role.role));
    }
  }

  double memory_ratio(KernelRole role) const {
    return memory_size(target_, target_counts_, role) / memory_size(base_, base_counts_, role);
  }

  /// A weight's gradient that is added within its product is read and written once more, in the gradients' type: how
  /// much longer that takes when the type changes.
  double accumulated_more_ns(const GemmShape& weights) const {
    if (!base_.gradient_accumulation_fusion || !target_.gradient_accumulation_fusion) return 0;
    const double bytes = 2 * static_cast<double>(weights.m) * static_cast<double>(weights.n) *
                         (gradient_bytes(target_) - gradient_bytes(base_));
    return bytes / gpu_.memory_gb_per_s;  // GB/s are bytes per nanosecond
  }

  double fused_attention_us(const Job& job, bool backward) const {
    AttentionShape shape = attention_shape(job);
    shape.backward = backward;
    return attention_us(shape, gpu_) - gpu_.kernel_floor_us;
  }

  /// Every kernel takes at least what the shortest takes; only what is above grows with its work.
  int64_t above_floor(int64_t duration_ns, double ratio) const {
    const auto floor_ns = static_cast<double>(gpu_.kernel_floor_us * 1e3);
    const double above = std::max(0.0, static_cast<double>(duration_ns) - floor_ns);
    return static_cast<int64_t>(static_cast<double>(duration_ns) - above + above * ratio);
  }

  /// How much larger a stage of rank r's place is for other sizes than its number of layers: what comes once per layer,
  /// or so often as there are buckets, is repeated by the plan.
  double stage_size_ratio(size_t r) const {
    const int64_t last = target_.pipeline_model_parallel_size - 1, stage = recovery_.places[r][Dimension::kPipeline];
    const bool ends = stage > 0 && stage + 1 == base_.pipeline_model_parallel_size;
    const int64_t there = ends ? last : std::min(stage, last);
    return static_cast<double>(stage_parameters(target_, there).total()) /
           static_cast<double>(stage_parameters(with_layers_of(base_, target_), there).total());
  }

  /// By how much the parameters grow that a replica's collective moves. In a layer's blocks they are a layer's, and of
  /// what comes at the end of a step they are all of a stage. What is gathered in front of the first layer is all of a
  /// rank's, in as many parts as were traced. Buckets beside the passes, but outside of layers, hold the embedding.
  double parameters_ratio(size_t r, const Transfer& transfer) const {
    const double layer = target_counts_.layer / base_counts_.layer;
    const RecoveredRank& recovered = recovery_.program.ranks[r].recovered;
    const uint32_t launch =
        transfer.row < recovered.list.launch_of_row.size() ? recovered.list.launch_of_row[transfer.row] : kNoIndex;
    const double embedding_bytes = base_counts_.words * bytes_per_parameter(base_, transfer);
    const auto bytes = static_cast<double>(transfer.bytes);
    if (launch == kNoIndex) {
      // Added to the traced job: a bucket of layers, or all of a stage.
      return bytes > 2 * base_counts_.layer * bytes_per_parameter(base_, transfer) ? stage_ratio_ : layer;
    }
    const Label& label = recovered.labels[launch];
    if (label.layer >= 0) return layer;
    if (label.phase == Phase::kGradSync || label.phase == Phase::kOptimizer) return stage_ratio_;
    if (label.phase == Phase::kForward) {
      return transfer.kind == CommKind::kAllGather ? rank_parameters(target_) / rank_parameters(base_) : layer;
    }
    const double share = bytes > 0 ? std::min(1.0, embedding_bytes / bytes) : 0;
    return share * target_counts_.words / base_counts_.words + (1 - share) * layer;
  }

  double bytes_ratio(size_t r, const Transfer& transfer) const {
    if (transfer.scope != CommScope::kData)
      return expected_bytes(target_, transfer.scope, transfer.kind) /
             expected_bytes(base_, transfer.scope, transfer.kind);
    if (!moves_parameters(transfer)) return 1;
    return parameters_ratio(r, transfer) * bytes_per_parameter(target_, transfer) /
           bytes_per_parameter(base_, transfer);
  }

  struct MovingAndWaiting {
    double moving_ns = 0, waiting_ns = 0;
  };

  MovingAndWaiting changed_transfer(size_t r, const Transfer& transfer, const BesideTransfer& beside) const {
    const int64_t stage = recovery_.places[r][Dimension::kPipeline];
    const GroupSpan before = span_of(base_, transfer.scope, stage, stage);
    const GroupSpan after = span_of(target_, transfer.scope, stage, stage);
    const double old_bytes =
        transfer.bytes > 0 ? static_cast<double>(transfer.bytes) : expected_bytes(base_, transfer.scope, transfer.kind);
    const double new_bytes = old_bytes * bytes_ratio(r, transfer);
    if (transfer.added) return {1e3 * transfer_us(network_, transfer.kind, new_bytes, after), 0};
    double transfer_ratio = 1;
    if (!(before == after) || new_bytes != old_bytes) {
      const double old_us = transfer_us(network_, transfer.kind, old_bytes, before);
      if (old_us > 0) transfer_ratio = transfer_us(network_, transfer.kind, new_bytes, after) / old_us;
    }
    const double spread = options_.variability ? growth_of_waits(before.members, after.members) : 1;
    const double period = transfer.scope == CommScope::kData ? options_.sync_period_ratio : layer_time_ratio();
    const auto steady = static_cast<double>(std::min(transfer.steady_wait_ns, transfer.wait_ns));
    const double varying = static_cast<double>(transfer.wait_ns) - steady;
    const double wait = spread * (varying * period + steady * std::min(1.0, period));
    const double moving = static_cast<double>(transfer.transfer_ns) * transfer_ratio;
    return {moving, wait_beside(wait, moving, transfer, beside)};
  }

  /// A rank that is faster than the others of its group gets ahead of them as long as its kernels have something else
  /// to do than to wait for the collective: it leads, and waits, by what they take longer than the transfer. That part
  /// of its waiting holds nobody up, and has no more room in the changed job than is left there.
  static double wait_beside(double wait_ns, double moving_ns, const Transfer& transfer, const BesideTransfer& beside) {
    if (transfer.scope != CommScope::kTensor || transfer.wait_ns <= 0) return wait_ns;
    const auto waited_ns = static_cast<double>(transfer.wait_ns);
    const double room_ns = std::max(0.0, beside.traced_ns - static_cast<double>(transfer.transfer_ns));
    const double hidden = std::min(1.0, room_ns / waited_ns);
    return (1 - hidden) * wait_ns + std::min(hidden * wait_ns, std::max(0.0, beside.changed_ns - moving_ns));
  }

  /// Tensor-parallel ranks wait for each other in every layer, longer where there is more to compute between.
  double layer_time_ratio() const { return layer_work_ratio(base_, target_, gpu_); }

  const Recovery& recovery_;
  const Job& base_;
  const Job& target_;
  const Network& network_;
  const RetimeOptions& options_;
  Counts base_counts_, target_counts_;
  Gpu gpu_;
  double stage_ratio_ = 1;
  std::vector<int64_t> waiting_ns_, behind_ns_;
};

}  // namespace

double layer_work_ratio(const Job& base, const Job& target, const Gpu& gpu) {
  const auto work = [&gpu](const Job& job) {
    return (layer_gemm_flops(job) + attention_flops(attention_shape(job))) * time_per_flop(job, gpu);
  };
  return work(target) / work(base);
}

double growth_of_waits(int64_t before, int64_t after) {
  return before > 1 ? expected_maximum(after) / expected_maximum(before) : 1;
}

TaskTimes retime(const Recovery& recovery, const Job& target, const Network& network, const RetimeOptions& options) {
  TaskTimes out;
  for (size_t r = 0; r < recovery.program.ranks.size(); ++r) {
    Retimer retimer(recovery, target, network, options);
    out.durations.push_back(retimer.run(r));
    out.waiting_ns.push_back(retimer.waiting());
    out.behind_ns.push_back(retimer.behind());
  }
  return out;
}

}  // namespace lumos

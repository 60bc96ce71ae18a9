#include <algorithm>
#include <array>

#include "lumos/plan/buckets.h"
#include "lumos/plan/parameters.h"
#include "lumos/program/change/switch_edits.h"

namespace lumos {
namespace {

constexpr int64_t kSmallestBucketBytes = 1 << 20;  // less is a norm, a flag or a loss

int64_t bytes_per_gradient(const Job& job) { return job.grad_reduce_in_fp32 ? 4 : element_bytes(job); }

/// Buckets that close within one layer, or, where a layer is smaller than a bucket, layers per bucket.
struct Buckets {
  int64_t per_layer = 1;
  int64_t layers = 1;
};

Buckets buckets_of(const Job& job) {
  const int64_t whole = layer_parameters(job), limit = bucket_limit(job);
  const int64_t queries = job.num_attention_heads * job.kv_channels, keys = job.num_query_groups * job.kv_channels;
  const int64_t ffn = job.ffn_hidden_size * job.hidden_size;
  const std::array<int64_t, 4> matrices = {ffn, ffn * (job.swiglu ? 2 : 1), queries * job.hidden_size,
                                           (queries + 2 * keys) * job.hidden_size};
  Buckets out;
  out.per_layer = 0;
  int64_t filled = 0;
  for (int64_t matrix : matrices) {
    filled += matrix / job.tensor_model_parallel_size;
    if (filled < limit) continue;
    ++out.per_layer;
    filled = 0;
  }
  if (out.per_layer == 0) out.layers = std::max<int64_t>(1, (limit + whole - 1) / whole);
  out.per_layer = std::max<int64_t>(1, out.per_layer);
  return out;
}

class DataEdits {
 public:
  DataEdits(SwitchedRank& rank, const Block& block, BlockEditor& editor)
      : rank_(rank), job_(rank.recovery.job), block_(block), editor_(editor), buckets_(buckets_of(job_)) {
    if (!rank.switches.buckets_change) return;
    Job other = job_;
    other.ddp_bucket_size = rank.target.ddp_bucket_size;
    buckets_ = buckets_of(other);
  }

  void run() {
    const Switches& switches = rank_.switches;
    for (uint32_t i = block_.launch_begin; i < block_.launch_end; ++i) {
      const bool reduces = reduces_gradients(rank_, i), gathers = gathers_parameters(rank_, i);
      if (reduces && switches.reduces_otherwise) rank_.convert(*rank_.transfer_of(i), reduction(rank_.target));
      if (reduces && (switches.reduce_before != switches.reduce_after || switches.buckets_change)) editor_.remove(i);
      if (gathers && (switches.gather_before != switches.gather_after || gathers_in_other_buckets())) editor_.remove(i);
      if (switches.embedding_ends && sums_embedding_gradient(rank_, i)) editor_.remove(i);
    }
    const bool last = block_.label.microbatch + 1 == job_.num_microbatches;
    const bool newly_reduces = switches.reduce_before != Moment::kEarly || switches.buckets_change;
    const bool newly_gathers = switches.gather_before != Moment::kEarly || gathers_in_other_buckets();
    if (newly_reduces && switches.reduce_after == Moment::kEarly && last && is_backward_block(block_.role))
      reduce_here();
    if (newly_gathers && switches.gather_after == Moment::kEarly && block_.label.microbatch == 0 &&
        is_forward_block(block_.role))
      gather_here();
  }

  static CommKind reduction(const Job& job) {
    return job.use_distributed_optimizer ? CommKind::kReduceScatter : CommKind::kAllReduce;
  }

 private:
  /// Parameters that are gathered beside the passes come in the buckets of the gradients.
  bool gathers_in_other_buckets() const {
    return rank_.switches.buckets_change && rank_.switches.gather_before == Moment::kEarly;
  }

  /// The layer's place in its chunk.
  int64_t layer() const { return block_.label.layer % layers_per_chunk(job_); }

  void reduce_here() {
    const CommKind kind = reduction(rank_.target);
    const StageParameters parameters = stage_parameters(job_, rank_.stage);
    if (block_.role == BlockRole::kBackwardExit) reduce(kind, parameters.embedding, last_compute());
    if (block_.role == BlockRole::kBackwardEntry) reduce(kind, parameters.head, last_compute());
    if (block_.role != BlockRole::kBackwardLayer) return;
    const int64_t from_end = layers_per_chunk(job_) - 1 - layer();
    const int64_t filled = from_end % buckets_.layers + 1;
    if (filled < buckets_.layers && layer() > 0) return;
    const int64_t size = filled * layer_parameters(job_) / buckets_.per_layer;
    for (int64_t i = 0; i < buckets_.per_layer; ++i) {
      const uint32_t middle = i == 0 && buckets_.per_layer > 1 ? weight_gradient(KernelRole::kFc1) : kNoIndex;
      reduce(kind, size, middle == kNoIndex ? last_compute() : middle);
    }
  }

  void reduce(CommKind kind, int64_t parameters, uint32_t after) {
    const int64_t bytes = parameters * bytes_per_gradient(job_);
    if (bytes < kSmallestBucketBytes || after == kNoIndex) return;
    editor_.insert(rank_.added.collective({CommScope::kData, kind, bytes}), {after, true}, kNoIndex);
  }

  /// Each bucket is gathered while the layer before its own runs.
  void gather_here() {
    const StageParameters parameters = stage_parameters(job_, rank_.stage);
    if (block_.role == BlockRole::kForwardEntry) gather(parameters.embedding, first_compute());
    if (block_.role == BlockRole::kForwardExit) gather(parameters.head, first_compute());
    if (block_.role != BlockRole::kForwardLayer || layer() % buckets_.layers != 0) return;
    const int64_t layers = std::min(buckets_.layers, layers_per_chunk(job_) - layer());
    for (int64_t i = 0; i < buckets_.per_layer; ++i)
      gather(layers * layer_parameters(job_) / buckets_.per_layer, first_product());
  }

  void gather(int64_t parameters, uint32_t before) {
    const int64_t bytes = parameters * element_bytes(job_);
    if (bytes < kSmallestBucketBytes || before == kNoIndex) return;
    editor_.insert(rank_.added.collective({CommScope::kData, CommKind::kAllGather, bytes}), {before, false}, before,
                   true);
  }

  uint32_t weight_gradient(KernelRole role) const {
    for (uint32_t i = block_.launch_begin; i < block_.launch_end; ++i)
      if (rank_.roles[i].role == role && rank_.roles[i].part == GemmPart::kWeightGradient) return i;
    return kNoIndex;
  }

  uint32_t first_product() const {
    for (uint32_t i = block_.launch_begin; i < block_.launch_end; ++i)
      if (rank_.roles[i].role <= KernelRole::kOtherGemm) return i;
    return first_compute();
  }

  uint32_t first_compute() const {
    for (uint32_t i = block_.launch_begin; i < block_.launch_end; ++i)
      if (!rank_.rank.recovered.list.launches[i].is_communication) return i;
    return kNoIndex;
  }

  uint32_t last_compute() const {
    for (uint32_t i = block_.launch_end; i-- > block_.launch_begin;)
      if (!rank_.rank.recovered.list.launches[i].is_communication) return i;
    return kNoIndex;
  }

  SwitchedRank& rank_;
  const Job& job_;
  const Block& block_;
  BlockEditor& editor_;
  Buckets buckets_;
};

}  // namespace

bool reduces_gradients(const SwitchedRank& rank, uint32_t launch) {
  const Transfer* transfer = rank.transfer_of(launch);
  if (!transfer || transfer->scope != CommScope::kData || transfer->bytes < kSmallestBucketBytes) return false;
  return transfer->kind == CommKind::kAllReduce || transfer->kind == CommKind::kReduceScatter;
}

bool gathers_parameters(const SwitchedRank& rank, uint32_t launch) {
  const Transfer* transfer = rank.transfer_of(launch);
  return transfer && transfer->scope == CommScope::kData && transfer->kind == CommKind::kAllGather;
}

bool sums_embedding_gradient(const SwitchedRank& rank, uint32_t launch) {
  const Transfer* transfer = rank.transfer_of(launch);
  return transfer && transfer->scope == CommScope::kEmbedding;
}

void edit_data(SwitchedRank& rank, const Block& block, BlockEditor& editor) { DataEdits(rank, block, editor).run(); }

TailWork tail_work(SwitchedRank& rank, int16_t step) {
  const Switches& switches = rank.switches;
  const Job& job = rank.recovery.job;
  TailWork tail;
  auto moved = [&](const Transfer& transfer) {
    AddedCollective again = rank.added.collective({transfer.scope, transfer.kind, transfer.bytes});
    again.row = transfer.row;
    return again;
  };
  const bool reduces_late = switches.reduce_after == Moment::kLate && switches.reduce_before != Moment::kLate;
  const bool gathers_late = switches.gather_after == Moment::kLate && switches.gather_before != Moment::kLate;
  for (uint32_t i = 0; i < rank.rank.recovered.labels.size(); ++i) {
    if (rank.rank.recovered.labels[i].step != step) continue;
    if (reduces_late && reduces_gradients(rank, i)) tail.before_optimizer.push_back(moved(*rank.transfer_of(i)));
    if (gathers_late && gathers_parameters(rank, i)) tail.after_optimizer.push_back(moved(*rank.transfer_of(i)));
  }
  const int64_t parameters = stage_parameters(job, rank.stage).total();
  auto fresh = [&](CommScope scope, CommKind kind, int64_t bytes) {
    return rank.added.collective({scope, kind, bytes});
  };
  // Without overlap Megatron keeps all parameters in one bucket.
  if (reduces_late && tail.before_optimizer.empty())
    tail.before_optimizer.push_back(
        fresh(CommScope::kData, DataEdits::reduction(rank.target), parameters * bytes_per_gradient(job)));
  if (gathers_late && tail.after_optimizer.empty())
    tail.after_optimizer.push_back(fresh(CommScope::kData, CommKind::kAllGather, parameters * element_bytes(job)));
  // Norms and the biases behind row-parallel products see a part of the sequence each: their gradients are summed.
  if (switches.sequence_on || (switches.tensor_grows && rank.target.sequence_parallel)) {
    const int64_t vectors = 6 * job.hidden_size * layers_per_chunk(job) * job.virtual_pipeline_model_parallel_size;
    tail.before_optimizer.push_back(fresh(CommScope::kTensor, CommKind::kAllReduce, vectors * bytes_per_gradient(job)));
  }
  const bool holds_embedding = rank.stage == 0 || rank.stage + 1 == job.pipeline_model_parallel_size;
  if (switches.embedding_begins && holds_embedding)
    tail.before_optimizer.push_back(
        fresh(CommScope::kEmbedding, CommKind::kAllReduce,
              static_cast<int64_t>(expected_bytes(job, CommScope::kEmbedding, CommKind::kAllReduce))));
  return tail;
}

}  // namespace lumos

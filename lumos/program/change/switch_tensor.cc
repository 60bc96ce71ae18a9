#include <algorithm>

#include "lumos/program/change/switch_edits.h"

namespace lumos {
namespace {

/// What sequence parallelism and growth put beside the products of a layer, in the order of Megatron's linear layers.
class TensorEdits {
 public:
  TensorEdits(SwitchedRank& rank, const Block& block, BlockEditor& editor)
      : rank_(rank),
        block_(block),
        editor_(editor),
        on_(rank.switches.sequence_on),
        grows_(rank.switches.tensor_grows) {
    const Job& job = rank.recovery.job;
    bytes_ = static_cast<int64_t>(expected_bytes(job, CommScope::kTensor, CommKind::kAllReduce));
    sums_ = rank.target.sequence_parallel ? CommKind::kReduceScatter : CommKind::kAllReduce;
  }

  void run() {
    for (uint32_t i = block_.launch_begin; i < block_.launch_end; ++i) {
      if (const Transfer* transfer = rank_.transfer_of(i)) {
        existing(i, *transfer);
        continue;
      }
      const RoleOf& role = rank_.roles[i];
      if (role.role > KernelRole::kLogits || !begins_product(i)) continue;
      const bool column =
          role.role == KernelRole::kQkv || role.role == KernelRole::kFc1 || role.role == KernelRole::kLogits;
      if (role.part == GemmPart::kForward) forward_product(i, column);
      if (role.part == GemmPart::kInputGradient) input_gradient(i, column);
    }
    if (block_.role == BlockRole::kForwardEntry && grows_) insert(last_compute(), true, sums_, kNoIndex);
    if (block_.role == BlockRole::kBackwardExit && on_) {
      const uint32_t first = first_compute();
      insert(first, false, CommKind::kAllGather, first);
    }
  }

 private:
  /// Of several launches that make one product, the first brings its communication.
  bool begins_product(uint32_t launch) const {
    const RoleOf& role = rank_.roles[launch];
    if (role.whole) return true;
    for (uint32_t i = block_.launch_begin; i < launch; ++i)
      if (rank_.roles[i].role == role.role && rank_.roles[i].part == role.part) return false;
    return true;
  }

  void existing(uint32_t launch, const Transfer& transfer) {
    if (transfer.scope != CommScope::kTensor) return;
    if (rank_.switches.tensor_ends) {
      editor_.remove(launch);
      return;
    }
    const bool in_layers = block_.role == BlockRole::kForwardLayer || block_.role == BlockRole::kBackwardLayer;
    const bool large = transfer.bytes < 0 ? in_layers || block_.role == BlockRole::kForwardEntry
                                          : transfer.bytes * 4 > bytes_;  // the loss has a few bytes per token
    if (!large) return;
    if (on_ && transfer.kind == CommKind::kAllReduce) rank_.convert(transfer, CommKind::kReduceScatter);
    if (!rank_.switches.sequence_off) return;
    if (transfer.kind == CommKind::kReduceScatter) rank_.convert(transfer, CommKind::kAllReduce);
    if (transfer.kind == CommKind::kAllGather) editor_.remove(launch);
  }

  /// A column-parallel product needs the whole sequence; a row-parallel one leaves sums to be reduced.
  void forward_product(uint32_t launch, bool column) {
    if (column && on_) insert(launch, false, CommKind::kAllGather, launch);
    if (!column && grows_) insert(launch, true, sums_, editor_.next_compute(launch));
    if (rank_.roles[launch].role == KernelRole::kLogits && grows_) loss(launch);
  }

  /// Backward it is the other way round; the gradient of the input is reduced beside the product for the weight, which
  /// gathers its input again.
  void input_gradient(uint32_t launch, bool column) {
    const uint32_t weight = weight_gradient_after(launch);
    if (!column) {
      if (on_) insert(launch, false, CommKind::kAllGather, launch);
      return;
    }
    if (on_) insert(launch, false, CommKind::kAllGather, weight);
    if (!grows_) return;
    const bool beside = rank_.target.async_tensor_model_parallel_allreduce && weight != kNoIndex;
    insert(launch, true, sums_, editor_.next_compute(beside ? weight : launch));
  }

  /// The loss over a split vocabulary: the maximum, the wanted logit and the sum of each token.
  void loss(uint32_t launch) {
    const Job& job = rank_.recovery.job;
    const int64_t bytes = job.micro_batch_size * job.seq_length * 4;
    const uint32_t consumer = editor_.next_compute(launch);
    for (int i = 0; i < 3; ++i)
      editor_.insert(rank_.added.collective({CommScope::kTensor, CommKind::kAllReduce, bytes}), {launch, true},
                     consumer);
  }

  uint32_t weight_gradient_after(uint32_t launch) const {
    for (uint32_t i = launch + 1; i < block_.launch_end; ++i)
      if (rank_.roles[i].role == rank_.roles[launch].role && rank_.roles[i].part == GemmPart::kWeightGradient) return i;
    return kNoIndex;
  }

  uint32_t first_compute() const {
    for (uint32_t i = block_.launch_begin; i < block_.launch_end; ++i)
      if (!rank_.transfer_of(i)) return i;
    return kNoIndex;
  }

  uint32_t last_compute() const {
    for (uint32_t i = block_.launch_end; i-- > block_.launch_begin;)
      if (!rank_.transfer_of(i)) return i;
    return kNoIndex;
  }

  void insert(uint32_t launch, bool after, CommKind kind, uint32_t consumer) {
    if (launch == kNoIndex) return;
    editor_.insert(rank_.added.collective({CommScope::kTensor, kind, bytes_}), {launch, after}, consumer);
  }

  SwitchedRank& rank_;
  const Block& block_;
  BlockEditor& editor_;
  bool on_, grows_;
  int64_t bytes_ = 0;
  CommKind sums_ = CommKind::kAllReduce;
};

}  // namespace

void edit_tensor(SwitchedRank& rank, const Block& block, BlockEditor& editor) {
  const Switches& switches = rank.switches;
  if (!switches.sequence_on && !switches.sequence_off && !switches.tensor_grows && !switches.tensor_ends) return;
  if (is_forward_block(block.role) || is_backward_block(block.role)) TensorEdits(rank, block, editor).run();
  if (block.role != BlockRole::kGradSync || !rank.recovery.job.sequence_parallel || rank.target.sequence_parallel)
    return;
  // Gradients of what every tensor-parallel rank holds were summed: no longer needed.
  for (uint32_t i = block.launch_begin; i < block.launch_end; ++i) {
    const Transfer* transfer = rank.transfer_of(i);
    if (!transfer || transfer->scope == CommScope::kTensor) editor.remove(i);
  }
}

}  // namespace lumos

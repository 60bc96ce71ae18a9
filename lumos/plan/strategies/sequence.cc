// Sequence parallelism (Korthikanti et al. 2022): what tensor parallelism leaves whole, each token for itself, is cut
// by tokens. Sums of activations then end scattered, and products of weights that are cut begin by gathering all
// tokens.
#include "lumos/plan/strategies/cut.h"
#include "lumos/plan/strategies/strategy.h"

namespace lumos {
namespace {

constexpr Dimension kDimension = Dimension::kTensor;

/// All tokens, needed by products with a cut weight: forward by those whose input is not cut itself; backward by all,
/// for the gradients of their results or, beside the gradient of the input, for the inputs themselves.
std::vector<Op> gather_before(const Op& op, bool beside) {
  const bool of_product = op.kind == OpKind::kProduct && !op.sums_rows;
  const bool column_cut = op.columns.is_cut(kDimension), inner_cut = op.inner.is_cut(kDimension);
  const bool needed = of_product && (op.backward ? column_cut || inner_cut : column_cut);
  if (!needed && !(op.kind == OpKind::kLookup && op.backward)) return {};
  const Extent hidden = {ModelSize::kSequence, ModelSize::kBatch, ModelSize::kHidden};
  std::vector<Op> gather = {collective_op(op, CollectiveKind::kAllGather, {hidden}, kDimension)};
  gather.back().beside_compute = op.backward && inner_cut && beside;
  return gather;
}

void shard(const Job& job, Plan& plan) {
  if (!job.sequence_parallel) return;
  for_each_list(plan, [&](std::vector<Op>& list) {
    for (Op& op : list) {
      if (op.kind == OpKind::kElementwise && !is_cut(op, kDimension)) cut_op(op, {ModelSize::kSequence}, kDimension);
      const bool sums_activations = op.kind == OpKind::kCollective && op.moved.front().elements.has(ModelSize::kHidden);
      if (sums_activations && op.along == kDimension) op.collective = CollectiveKind::kReduceScatter;
    }
    insert_around(
        list, [&](const Op& op) { return gather_before(op, job.async_tensor_model_parallel_allreduce); },
        [](const Op&) { return std::vector<Op>(); });
  });
}

std::vector<Sign> seen_as() {
  return {{"sequence_parallel", "true", kDimension, CollectiveKind::kReduceScatter, false,
           "which reduce and scatter over tensor-parallel ranks"},
          {"sequence_parallel", "false", kDimension, CollectiveKind::kAllReduce, false,
           "which all-reduce over tensor-parallel ranks and never scatter"}};
}

}  // namespace

Strategy sequence_strategy() { return {.name = "sequence", .shard = shard, .seen_as = seen_as}; }

}  // namespace lumos

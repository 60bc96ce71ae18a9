// Tensor parallelism (Shoeybi et al. 2019): heads, the FFN's width and the vocabulary are cut. A product that sums over
// a cut size, and a look-up in a cut table, give each rank a part of every element: the parts are added up. So do
// losses over a cut vocabulary, with a few numbers per token.
#include "lumos/plan/strategies/cut.h"
#include "lumos/plan/strategies/strategy.h"

namespace lumos {
namespace {

constexpr Dimension kDimension = Dimension::kTensor;

/// Of the activations of all tokens.
const Extent kHiddenState = {ModelSize::kSequence, ModelSize::kBatch, ModelSize::kHidden};

/// The sums that a list of ops needs.
std::vector<Op> sums_after(const Op& op, bool beside) {
  std::vector<Op> sums;
  if (sums_parts(op, kDimension)) {
    sums.push_back(collective_op(op, CollectiveKind::kAllReduce, {result_of(op)}, kDimension));
    // Backward, the gradient of the weight does not need it.
    sums.back().beside_compute = op.backward && beside;
  } else if (op.kind == OpKind::kLookup && !op.backward) {
    sums.push_back(collective_op(op, CollectiveKind::kAllReduce, {kHiddenState}, kDimension));
  }
  const Extent tokens = {ModelSize::kSequence, ModelSize::kBatch};
  for (int64_t i = 0; i < op.agreements; ++i)
    sums.push_back(collective_op(op, CollectiveKind::kAllReduce, {tokens, 1, NumberType::kFp32}, kDimension));
  return sums;
}

void shard(const Job& job, Plan& plan) {
  if (job.tensor_model_parallel_size == 1) return;
  using enum ModelSize;
  for_each_list(plan, [&](std::vector<Op>& list) {
    for (Op& op : list)
      cut_op(op, {kQueryHeads, kKeyHeads, kQkvWidth, kAttentionWidth, kFfn, kFfnIn, kVocabulary}, kDimension);
    insert_around(
        list, [](const Op&) { return std::vector<Op>(); },
        [&](const Op& op) { return sums_after(op, job.async_tensor_model_parallel_allreduce); });
  });
}

}  // namespace

Strategy tensor_strategy() { return {.name = "tensor", .shard = shard}; }

}  // namespace lumos

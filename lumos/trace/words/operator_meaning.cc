#include "lumos/trace/words/operator_meaning.h"

#include <charconv>

namespace lumos {

namespace {

enum class Where : uint8_t { kIs, kBegins, kHolds };

bool matches(Where where, std::string_view pattern, std::string_view name) {
  switch (where) {
    case Where::kIs:
      return name == pattern;
    case Where::kBegins:
      return name.starts_with(pattern);
    case Where::kHolds:
      return name.find(pattern) != std::string_view::npos;
  }
  return false;
}

struct OperatorRow {
  Where where;
  std::string_view pattern;
  Operator op;
};

// The first match decides.
constexpr OperatorRow kOperators[] = {
    {Where::kIs, "aten::mm", Operator::kMm},
    {Where::kIs, "aten::bmm", Operator::kBmm},
    {Where::kIs, "aten::matmul", Operator::kMatmul},
    {Where::kIs, "aten::addmm", Operator::kAddmm},
    {Where::kIs, "aten::baddbmm", Operator::kBaddbmm},
    {Where::kIs, "aten::linear", Operator::kLinear},
    {Where::kIs, "aten::conv1d", Operator::kConvolution},
    {Where::kIs, "aten::conv2d", Operator::kConvolution},
    {Where::kIs, "aten::conv3d", Operator::kConvolution},
    {Where::kIs, "aten::convolution", Operator::kConvolution},
    {Where::kIs, "aten::_convolution", Operator::kConvolution},
    {Where::kIs, "aten::miopen_convolution", Operator::kConvolution},
    {Where::kIs, "aten::cudnn_convolution", Operator::kCudnnConvolution},
    {Where::kIs, "aten::convolution_backward", Operator::kConvolutionBackward},
    {Where::kIs, "aten::batch_norm", Operator::kBatchNorm},
    {Where::kIs, "aten::layer_norm", Operator::kLayerNorm},
    {Where::kIs, "aten::native_layer_norm", Operator::kLayerNorm},
    {Where::kIs, "aten::group_norm", Operator::kGroupNorm},
    {Where::kIs, "aten::rms_norm", Operator::kRmsNorm},
    {Where::kIs, "aten::embedding", Operator::kEmbedding},
    {Where::kIs, "aten::embedding_bag", Operator::kEmbeddingBag},
    {Where::kIs, "aten::_embedding_bag", Operator::kEmbeddingBag},
    {Where::kIs, "aten::_flash_attention_forward", Operator::kFlashForward},
    {Where::kIs, "aten::_flash_attention_backward", Operator::kFlashBackward},
    {Where::kIs, "aten::scaled_dot_product_attention", Operator::kScaledDotProduct},
    {Where::kBegins, "aten::scaled_dot_product", Operator::kScaledDotProductPart},
    {Where::kBegins, "aten::_scaled_dot_product", Operator::kScaledDotProductPart},
    {Where::kIs, "FlashAttnFunc", Operator::kFlashFunction},
    {Where::kIs, "flash_attn::_flash_attn_forward", Operator::kFlashFunction},
    {Where::kIs, "torch::autograd::AccumulateGrad", Operator::kAccumulateGrad},
};

struct TraitRow {
  Where where;
  std::string_view pattern;
  OperatorTrait trait;
};

constexpr std::string_view kEngine = "autograd::engine::evaluate_function";
constexpr std::string_view kStep = "ProfilerStep";

// All that match count.
constexpr TraitRow kTraits[] = {
    {Where::kHolds, kEngine, OperatorTrait::kEngine},
    {Where::kHolds, "Backward", OperatorTrait::kBackwardNode},
    {Where::kHolds, "CheckpointFunctionBackward", OperatorTrait::kCheckpoint},
    {Where::kHolds, "CheckpointBackward", OperatorTrait::kCheckpoint},
    {Where::kHolds, "Optimizer.step", OperatorTrait::kOptimizer},
    {Where::kHolds, "multi_tensor", OperatorTrait::kOptimizer},
    {Where::kHolds, "_fused_adam", OperatorTrait::kOptimizer},
    {Where::kHolds, "FusedAdam", OperatorTrait::kOptimizer},
    {Where::kHolds, "_foreach_", OperatorTrait::kOptimizer},
    {Where::kBegins, "Optimizer.", OperatorTrait::kParameters},
    {Where::kBegins, "aten::_foreach_", OperatorTrait::kParameters},
    {Where::kBegins, "aten::_fused_", OperatorTrait::kParameters},
    {Where::kHolds, "zero_grad", OperatorTrait::kZeroing},
    {Where::kIs, "aten::zero_", OperatorTrait::kZeroing},
    {Where::kHolds, "all_to_all", OperatorTrait::kAllToAll},
    {Where::kHolds, "alltoall", OperatorTrait::kAllToAll},
    {Where::kHolds, "All2All", OperatorTrait::kAllToAll},
    {Where::kBegins, "c10d::", OperatorTrait::kCollectiveCall},
    {Where::kBegins, "nccl:", OperatorTrait::kCollectiveCall},
    {Where::kIs, "record_param_comms", OperatorTrait::kCollectiveCall},
    {Where::kBegins, "c10d::", OperatorTrait::kEnqueues},
    {Where::kBegins, "c10d_functional::", OperatorTrait::kEnqueues},
    {Where::kBegins, "_c10d_functional::", OperatorTrait::kEnqueues},
    {Where::kHolds, "wait", OperatorTrait::kWaits},
    {Where::kBegins, "torch.distributed.ddp.reducer::", OperatorTrait::kReducer},
    {Where::kHolds, "AccumulateGrad", OperatorTrait::kAccumulates},
    {Where::kHolds, "bmm", OperatorTrait::kBatchedProduct},
    {Where::kHolds, "Bmm", OperatorTrait::kBatchedProduct},
    {Where::kHolds, "Embedding", OperatorTrait::kEmbedding},
    {Where::kBegins, kStep, OperatorTrait::kStepMark},
    {Where::kBegins, "gloo:", OperatorTrait::kGloo},
    {Where::kIs, "aten::ones_like", OperatorTrait::kFirstGradient},
    {Where::kBegins, kShardedAnnotation, OperatorTrait::kSharded},
    {Where::kBegins, "FullyShardedDataParallel.", OperatorTrait::kSharded},
    {Where::kBegins, "Torch-Compiled Region", OperatorTrait::kCompiledRegion},
    {Where::kBegins, "CompiledFunction", OperatorTrait::kCompiledRegion},
    {Where::kBegins, "## Call CompiledFxGraph", OperatorTrait::kCompiledRegion},
};

// Copies many tensors at once, which servers do with a batch's inputs: no optimizer by itself.
constexpr std::string_view kCopyOfMany = "aten::_foreach_copy_";

}  // namespace

OperatorMeaning operator_meaning(std::string_view name) {
  OperatorMeaning meaning;
  meaning.known = true;
  meaning.hint = hint_of_name(name);
  meaning.unit = unit_work_of_name(name);
  for (const OperatorRow& row : kOperators) {
    if (!matches(row.where, row.pattern, name)) continue;
    meaning.op = row.op;
    break;
  }
  if (meaning.op == Operator::kScaledDotProductPart && name.ends_with("_backward")) {
    meaning.op = Operator::kScaledDotProductBackward;
  }
  for (const TraitRow& row : kTraits) {
    if (matches(row.where, row.pattern, name)) meaning.traits |= static_cast<uint32_t>(row.trait);
  }
  if (name == kCopyOfMany) meaning.traits &= ~static_cast<uint32_t>(OperatorTrait::kOptimizer);
  return meaning;
}

int64_t step_number(std::string_view name) {
  if (!name.starts_with(kStep) || name.size() <= kStep.size() + 1 || name[kStep.size()] != '#') return -1;
  int64_t number = -1;
  const auto [end, error] = std::from_chars(name.data() + kStep.size() + 1, name.data() + name.size(), number);
  return error == std::errc() ? number : -1;
}

std::string_view without_engine(std::string_view name) {
  constexpr std::string_view kSeparator = ": ";
  if (!name.starts_with(kEngine)) return name;
  const std::string_view rest = name.substr(kEngine.size());
  return rest.starts_with(kSeparator) ? rest.substr(kSeparator.size()) : name;
}

}  // namespace lumos

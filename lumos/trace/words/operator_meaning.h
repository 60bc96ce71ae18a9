// What an operator or annotation on a CPU thread is, by its name: one row per name or pattern in operator_meaning.cc,
// so that a new kind of job is a row there. Looked up once per distinct name (see lexicon.h); above trace/ nobody reads
// these names.
#pragma once

#include <cstdint>
#include <string_view>

#include "lumos/trace/words/collective_kind.h"
#include "lumos/trace/words/unit_work.h"

namespace lumos {

/// Operators whose arguments are known by position.
enum class Operator : uint8_t {
  kOther,
  kMm,
  kBmm,
  kMatmul,
  kAddmm,
  kBaddbmm,
  kLinear,
  kConvolution,
  kCudnnConvolution,  ///< without a bias among its arguments
  kConvolutionBackward,
  kBatchNorm,
  kLayerNorm,
  kGroupNorm,
  kRmsNorm,
  kEmbedding,
  kEmbeddingBag,
  kScaledDotProduct,          ///< attention as models call it
  kScaledDotProductPart,      ///< one of its implementations
  kScaledDotProductBackward,  ///< of any of them
  kFlashForward,              ///< aten's flash attention, [batch, length, heads, size]
  kFlashBackward,
  kFlashFunction,   ///< flash attention of its own package
  kAccumulateGrad,  ///< a gradient is added to its parameter's
};

/// What the code inside a row does; bits of a set.
enum class OperatorTrait : uint32_t {
  kEngine = 1u << 0,           ///< autograd's engine runs a node
  kBackwardNode = 1u << 1,     ///< a node of the backward pass
  kCheckpoint = 1u << 2,       ///< backward of a checkpoint, which runs its forward again
  kOptimizer = 1u << 3,        ///< the optimizer's step
  kParameters = 1u << 4,       ///< works on parameters, whatever their shapes look like
  kZeroing = 1u << 5,          ///< sets gradients to zero
  kAllToAll = 1u << 6,         ///< tokens go to experts, or come from them
  kCollectiveCall = 1u << 7,   ///< PyTorch asks for a collective
  kEnqueues = 1u << 8,         ///< puts a collective into a queue: the dispatcher's operators
  kWaits = 1u << 9,            ///< waits for a collective
  kReducer = 1u << 10,         ///< DDP's reducer
  kAccumulates = 1u << 11,     ///< adds a gradient to its parameter's, engine's row included
  kBatchedProduct = 1u << 12,  ///< multiplies many matrices of activations
  kEmbedding = 1u << 13,       ///< looks up embeddings, or is their backward
  kStepMark = 1u << 14,        ///< the profiler's mark of a step
  kGloo = 1u << 15,            ///< a gloo operation itself, which a CPU thread runs
  kSharded = 1u << 16,         ///< FSDP gathers, frees or reduces what is sharded
  kCompiledRegion = 1u << 17,  ///< code that a compiler fused
  kFirstGradient = 1u << 18,   ///< makes the gradient of one that a backward of a loss begins with
};

struct OperatorMeaning {
  bool known = false;  ///< the name was looked up
  Operator op = Operator::kOther;
  UnitWork unit = UnitWork::kNone;  ///< of a sharded job
  CollectiveHint hint;              ///< the collective that PyTorch names here
  uint32_t traits = 0;

  bool is(OperatorTrait trait) const { return (traits & static_cast<uint32_t>(trait)) != 0; }
  bool in_backward() const { return is(OperatorTrait::kEngine) || is(OperatorTrait::kBackwardNode); }
};

/// The meaning of a name, looked up anew.
OperatorMeaning operator_meaning(std::string_view name);

/// The number in "ProfilerStep#12"; -1 where there is none.
int64_t step_number(std::string_view name);

/// "autograd::engine::evaluate_function: X" without what the engine puts before X.
std::string_view without_engine(std::string_view name);

}  // namespace lumos

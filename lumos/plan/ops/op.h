// What a GPU does in one piece of a model, without times: products, attention, moved bytes, collectives, as extents
// over the model's sizes. plan/layer lists the ops of an unsharded model, strategies cut them and put collectives
// between; times, memory, FLOPs and parameters are folds over the result.
#pragma once

#include <string_view>
#include <vector>

#include "lumos/base/inline_list.h"
#include "lumos/graph/host/collective.h"
#include "lumos/plan/ops/extent.h"

namespace lumos {

/// What numbers are kept as. Precision says how many bytes each takes.
enum class NumberType : uint8_t {
  kModel,     ///< parameters as they are computed with, and activations
  kGradient,  ///< of parameters, as they are accumulated and reduced
  kMaster,    ///< the optimizer's
  kFp32,
  kByte,   ///< masks
  kToken,  ///< numbers of words
};
inline constexpr size_t kNumNumberTypes = 6;

/// Elements that move or stay, `passes` times each.
struct Term {
  Extent elements;
  double passes = 1;
  NumberType type = NumberType::kModel;
};

enum class OpKind : uint8_t {
  kProduct,      ///< rows x columns, summed over inner, batch times
  kAttention,    ///< fused: scores, softmax and context
  kElementwise,  ///< moves its terms
  kLookup,       ///< moves its terms: rows of a table, or gradients into one
  kLoss,         ///< moves its terms: softmax over the vocabulary
  kCollective,   ///< its one term is what NCCL's own tests call the size
};

struct Op {
  std::string_view role;  ///< "linear_qkv", "input_layernorm" ...: Megatron's module; static text
  OpKind kind = OpKind::kElementwise;
  bool backward = false;
  int64_t kernels = 1;  ///< that share the work equally; 0: part of the kernel before

  Extent rows, columns, inner, batch;  ///< of products; of attention: queries, keys, head size, sequences
  Extent heads, key_heads;             ///< of attention
  bool sums_rows = false;              ///< the gradient of a weight
  InlineList<Term, 2> moved;           ///< bytes read plus bytes written

  CollectiveKind collective = CollectiveKind::kAllReduce;
  DimensionSet along;           ///< whom a collective is with
  bool beside_compute = false;  ///< runs beside the next product instead of before it

  InlineList<Extent, 2> weights;  ///< parameters that it has, forward
  InlineList<Term, 2> kept;       ///< for the backward pass, forward
  bool attention_core = false;    ///< what selective recomputation drops
  int64_t agreements = 0;         ///< of a loss: sums of one number per token where its vocabulary is cut
};

/// Forward and backward of one micro-batch, in order of issue, without recomputation.
struct ModelPart {
  std::vector<Op> forward, backward;
};

}  // namespace lumos

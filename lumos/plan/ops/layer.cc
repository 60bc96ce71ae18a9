#include "lumos/plan/ops/layer.h"

namespace lumos {
namespace {

using enum ModelSize;
using enum NumberType;

const Extent kTokens = {kSequence, kBatch};

Extent per_token(std::initializer_list<ModelSize> sizes) { return kTokens.times(Extent(sizes)); }

/// More than any part has; growing would move them again and again.
constexpr size_t kMostOps = 40;

/// Appends ops to a list; the functions below read as the model does.
class OpList {
 public:
  explicit OpList(const Job& job, bool backward = false) : job_(job), backward_(backward) { list_.reserve(kMostOps); }

  Op& add(std::string_view role, OpKind kind) {
    Op& op = list_.emplace_back();
    op.role = role;
    op.kind = kind;
    op.backward = backward_;
    op.attention_core = attention_core_;
    return op;
  }
  Op& move(std::string_view role, const InlineList<Term, 2>& terms, int64_t kernels = 1) {
    Op& op = add(role, OpKind::kElementwise);
    op.moved = terms;
    op.kernels = kernels;
    return op;
  }
  Op& product(std::string_view role, Extent rows, Extent columns, Extent inner) {
    Op& op = add(role, OpKind::kProduct);
    op.rows = rows;
    op.columns = columns;
    op.inner = inner;
    return op;
  }
  /// y = x W^T + b for every token.
  Op& linear(std::string_view role, ModelSize out, ModelSize in) {
    Op& op = product(role, kTokens, {out}, {in});
    op.weights.push_back({out, in});
    if (job_.add_bias_linear && role != "output_layer") op.weights.push_back({out});
    return op;
  }
  /// The gradient of x, and that of W added to what earlier micro-batches left.
  void linear_backward(std::string_view role, ModelSize out, ModelSize in) {
    product(role, kTokens, {in}, {out});
    product(role, {out}, {in}, kTokens).sums_rows = true;
    accumulate(role, {out, in});
  }
  /// Adds a weight's gradient to the main gradient. Fused into the product, it costs the wider accumulator only.
  void accumulate(std::string_view role, Extent weight) {
    if (job_.gradient_accumulation_fusion) {
      move(role, {{weight, 2, kGradient}, {weight, -1}}, 0);
    } else {
      move(role, {{weight, 1}, {weight, 2, kGradient}});
    }
  }
  /// Whether what follows is what selective recomputation drops.
  void set_attention_core(bool inside) { attention_core_ = inside; }
  std::vector<Op> take() { return std::move(list_); }

 private:
  const Job& job_;
  bool backward_;
  bool attention_core_ = false;
  std::vector<Op> list_;
};

Term mask(const Job& job, const Extent& of) { return {of, job.hidden_dropout > 0 ? 1.0 : 0.0, kByte}; }

void norm(OpList& list, std::string_view role, const Job& job) {
  const Extent hidden = per_token({kHidden});
  Op& op = list.move(role, {{hidden, 2}});
  op.kept.push_back({hidden, 2});   // input and output
  op.weights.push_back({kHidden});  // scale, and shift where the norm has one
  if (job.normalization == Normalization::kLayerNorm) op.weights.push_back({kHidden});
}

/// Reads input and gradient, writes the input's gradient and adds the residual's; a second kernel sums up the weights'.
void norm_backward(OpList& list, std::string_view role) { list.move(role, {{per_token({kHidden}), 5}}, 2); }

void residual(OpList& list, std::string_view role, const Job& job) {
  const Extent hidden = per_token({kHidden});
  const bool fused = job.bias_dropout_fusion || (!job.add_bias_linear && job.hidden_dropout <= 0);
  // Apart: bias, dropout and sum each read and write the whole activation.
  Op& op = list.move(role, {{hidden, fused ? 3.0 : 7.0}, mask(job, hidden)}, fused ? 1 : 3);
  op.kept.push_back(mask(job, hidden));
}

void residual_backward(OpList& list, std::string_view role, const Job& job) {
  const Extent hidden = per_token({kHidden});
  if (job.hidden_dropout > 0) list.move(role, {{hidden, 2}, mask(job, hidden)});
  if (job.add_bias_linear) list.move(role, {{hidden, 1}});
}

void rotary(OpList& list, const Job& job) {
  if (job.position_embedding_type != PositionEmbedding::kRope) return;
  list.move("rotary", {{per_token({kQueryHeads, kHeadSize}), 2}, {per_token({kKeyHeads, kHeadSize}), 2}}, 2);
}

const Extent kMatrices = {kBatch, kQueryHeads};
const Extent kScores = {kBatch, kQueryHeads, kSequence, kKeySequence};

/// fp32 sums and maxima per query and head.
const Term kFlashStatistics = {kTokens.times({kQueryHeads}), 1, kFp32};

Op& attention_product(OpList& list, std::string_view role, ModelSize columns, ModelSize inner) {
  Op& op = list.product(role, {kSequence}, {columns}, {inner});
  op.batch = kMatrices;
  return op;
}

Op& fused_attention(OpList& list) {
  Op& op = list.add("core_attention", OpKind::kAttention);
  op.rows = {kSequence};
  op.columns = {kKeySequence};
  op.inner = {kHeadSize};
  op.batch = {kBatch};
  op.heads = {kQueryHeads};
  op.key_heads = {kKeyHeads};
  return op;
}

void attention_core(OpList& list, const Job& job) {
  if (job.use_flash_attn) {
    fused_attention(list).kept.push_back(kFlashStatistics);
    return;
  }
  attention_product(list, "attention_scores", kKeySequence, kHeadSize);
  // Fused: scale, mask and softmax in one pass that reads the causal half; else one whole pass each.
  Op& softmax = job.masked_softmax_fusion ? list.move("attention_softmax", {{kScores, 1.5}})
                                          : list.move("attention_softmax", {{kScores, 6}}, 3);
  softmax.kept.push_back({kScores, 1});
  if (job.attention_dropout > 0) {
    Op& dropout = list.move("attention_dropout", {{kScores, 2}, {kScores, 1, kByte}});
    dropout.kept = {{kScores, 1}, {kScores, 1, kByte}};
  }
  attention_product(list, "attention_context", kHeadSize, kKeySequence);
  list.move("attention_transpose", {{per_token({kAttentionWidth}), 2}});
}

void attention_core_backward(OpList& list, const Job& job) {
  if (job.use_flash_attn) {
    fused_attention(list);
    return;
  }
  list.move("attention_transpose", {{per_token({kAttentionWidth}), 2}});
  attention_product(list, "attention_context", kKeySequence, kHeadSize);
  attention_product(list, "attention_context", kHeadSize, kKeySequence);
  if (job.attention_dropout > 0) list.move("attention_dropout", {{kScores, 2}, {kScores, 1, kByte}});
  if (job.masked_softmax_fusion) {
    list.move("attention_softmax", {{kScores, 2}});
  } else {
    list.move("attention_softmax", {{kScores, 7}}, 3);
  }
  attention_product(list, "attention_scores", kHeadSize, kKeySequence);
  attention_product(list, "attention_scores", kHeadSize, kKeySequence);
}

void activation(OpList& list, const Job& job) {
  const bool apart = job.add_bias_linear && !job.bias_gelu_fusion;
  list.move("activation", {{per_token({kFfnIn}), apart ? 3.0 : 1.0}, {per_token({kFfn}), 1}}, apart ? 2 : 1);
}

void activation_backward(OpList& list, const Job& job) {
  list.move("activation", {{per_token({kFfnIn}), 2}, {per_token({kFfn}), 1}});
  if (job.add_bias_linear) list.move("linear_fc1", {{per_token({kFfnIn}), 1}});
}

std::vector<Op> layer_forward(const Job& job) {
  OpList list(job);
  norm(list, "input_layernorm", job);
  list.linear("linear_qkv", kQkvWidth, kHidden).kept.push_back({per_token({kQkvWidth}), 1});
  rotary(list, job);
  list.set_attention_core(true);
  attention_core(list, job);
  list.set_attention_core(false);
  list.linear("linear_proj", kHidden, kAttentionWidth).kept.push_back({per_token({kAttentionWidth}), 1});
  residual(list, "self_attn_bda", job);
  norm(list, "pre_mlp_layernorm", job);
  list.linear("linear_fc1", kFfnIn, kHidden).kept.push_back({per_token({kFfnIn}), 1});
  activation(list, job);
  list.linear("linear_fc2", kHidden, kFfn).kept.push_back({per_token({kFfn}), 1});
  residual(list, "mlp_bda", job);
  return list.take();
}

std::vector<Op> layer_backward(const Job& job) {
  OpList list(job, true);
  residual_backward(list, "mlp_bda", job);
  list.linear_backward("linear_fc2", kHidden, kFfn);
  activation_backward(list, job);
  list.linear_backward("linear_fc1", kFfnIn, kHidden);
  norm_backward(list, "pre_mlp_layernorm");
  residual_backward(list, "self_attn_bda", job);
  list.linear_backward("linear_proj", kHidden, kAttentionWidth);
  attention_core_backward(list, job);
  rotary(list, job);
  if (job.add_bias_linear) list.move("linear_qkv", {{per_token({kQkvWidth}), 1}});
  list.linear_backward("linear_qkv", kQkvWidth, kHidden);
  norm_backward(list, "input_layernorm");
  return list.take();
}

/// Bytes per logit of Megatron's vocabulary-parallel cross entropy. Apart: to fp32, maximum, subtract, exponent, sum,
/// divide, then scale the gradient and convert it back. Fused: two passes forward, one back.
constexpr double kLossForwardBytes = 38, kLossBackwardBytes = 14;
constexpr double kFusedLossForwardBytes = 12, kFusedLossBackwardBytes = 10;

}  // namespace

ModelPart layer_ops(const Job& job) { return {layer_forward(job), layer_backward(job)}; }

ModelPart embedding_ops(const Job& job) {
  const Extent hidden = per_token({kHidden}), table = {kVocabulary, kHidden};
  const bool learned = job.position_embedding_type == PositionEmbedding::kLearnedAbsolute;
  const bool drops = job.hidden_dropout > 0;
  OpList forward(job);
  Op& lookup = forward.add("word_embeddings", OpKind::kLookup);
  lookup.moved = {{hidden, 2}};
  lookup.weights.push_back(table);
  if (learned) forward.move("position_embeddings", {{hidden, 3}}, 2).weights.push_back({kPositions, kHidden});
  if (drops) forward.move("embedding_dropout", {{hidden, 2}, mask(job, hidden)}).kept.push_back(mask(job, hidden));
  OpList backward(job, true);
  if (drops) backward.move("embedding_dropout", {{hidden, 2}, mask(job, hidden)});
  // A dense gradient: cleared, scattered into, and added to the main gradient.
  Op& scatter = backward.add("word_embeddings", OpKind::kLookup);
  scatter.moved = {{table, 1}, {hidden, 3}};
  scatter.kernels = 3;
  backward.accumulate("word_embeddings", table);
  return {forward.take(), backward.take()};
}

ModelPart head_ops(const Job& job) {
  const Extent logits = per_token({kVocabulary});
  const bool fused = job.cross_entropy_loss_fusion;
  OpList forward(job);
  norm(forward, "final_layernorm", job);
  forward.linear("output_layer", kVocabulary, kHidden);
  Op& loss = forward.add("cross_entropy", OpKind::kLoss);
  loss.moved = {{logits, fused ? kFusedLossForwardBytes : kLossForwardBytes, kByte}};
  loss.kernels = fused ? 3 : 8;
  // Maximum, target logit and sum of exponents are agreed between the parts of the vocabulary.
  loss.agreements = fused ? 2 : 3;
  // Logits, their fp32 copy, and without fusion the copy that the exponents go to.
  loss.kept = {{logits, 1}, {logits, fused ? 1.0 : 2.0, kFp32}};
  OpList backward(job, true);
  Op& gradient = backward.add("cross_entropy", OpKind::kLoss);
  gradient.moved = {{logits, fused ? kFusedLossBackwardBytes : kLossBackwardBytes, kByte}};
  gradient.kernels = fused ? 2 : 3;
  backward.linear_backward("output_layer", kVocabulary, kHidden);
  norm_backward(backward, "final_layernorm");
  return {forward.take(), backward.take()};
}

}  // namespace lumos

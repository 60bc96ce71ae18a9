#include "lumos/plan/layer_work.h"

#include <algorithm>

#include "lumos/plan/parallel_layout.h"

namespace lumos {
namespace {

/// Sizes of one tensor-parallel rank, in elements, for one micro-batch.
struct Sizes {
  int64_t tokens, batch, heads, key_heads, attention_width, qkv_width, ffn, ffn_in, vocab;
  double element;       // bytes
  double hidden;        // elements of tokens x hidden
  double hidden_split;  // the same, or this rank's part of it under sequence parallelism
  double scores;        // elements of the attention matrix
  bool hidden_drop, attention_drop;

  explicit Sizes(const Job& job) {
    const int64_t tp = job.tensor_model_parallel_size;
    batch = job.micro_batch_size;
    tokens = job.seq_length * batch;
    heads = job.num_attention_heads / tp;
    key_heads = job.num_query_groups / tp;
    attention_width = heads * job.kv_channels;
    qkv_width = (heads + 2 * key_heads) * job.kv_channels;
    ffn = job.ffn_hidden_size / tp;
    ffn_in = ffn * (job.swiglu ? 2 : 1);
    vocab = padded_vocab_size(job) / tp;
    element = static_cast<double>(element_bytes(job));
    hidden = static_cast<double>(tokens) * static_cast<double>(job.hidden_size);
    hidden_split = job.sequence_parallel ? hidden / static_cast<double>(tp) : hidden;
    scores =
        static_cast<double>(batch * heads) * static_cast<double>(job.seq_length) * static_cast<double>(job.seq_length);
    hidden_drop = job.hidden_dropout > 0;
    attention_drop = job.attention_dropout > 0;
  }
};

/// Appends kernels to a list; the parents below read as the model does.
class WorkList {
 public:
  WorkList(const Job& job, const GroupShape& tensor_group) : job_(job), tensor_group_(tensor_group) {}

  void gemm(std::string_view role, int64_t m, int64_t n, int64_t k, int64_t batch = 1, bool sums_rows = false) {
    list_.push_back({role, GemmShape{m, n, k, batch, element_bytes(job_), sums_rows}});
  }
  /// y = x W^T backwards: the gradient of x, and of W added to what earlier micro-batches left. `sum_bytes` of the
  /// result of this rank's part are reduced between the two.
  void gemm_backward(std::string_view role, int64_t m, int64_t n, int64_t k, bool reduces_input) {
    gemm(role, m, k, n);
    if (reduces_input) reduce_hidden(role, job_.async_tensor_model_parallel_allreduce);
    gemm(role, n, k, m, 1, true);
    accumulate(role, static_cast<double>(n) * static_cast<double>(k));
  }
  /// Adds a weight's gradient to the main gradient. Fused into the product, it costs the wider accumulator only.
  void accumulate(std::string_view role, double parameters) {
    const double grad = job_.grad_reduce_in_fp32 ? 4 : static_cast<double>(element_bytes(job_));
    const double product = static_cast<double>(element_bytes(job_));
    if (job_.gradient_accumulation_fusion) {
      list_.push_back({role, ElementwiseWork{parameters * (2 * grad - product)}, 0});
    } else {
      list_.push_back({role, ElementwiseWork{parameters * (product + 2 * grad)}});
    }
  }
  void move(std::string_view role, double bytes, int64_t kernels = 1) {
    list_.push_back({role, ElementwiseWork{bytes}, kernels});
  }
  void attention(const Sizes& sizes, bool backward) {
    AttentionShape shape{sizes.batch, job_.seq_length, job_.seq_length, sizes.heads, sizes.key_heads, job_.kv_channels};
    shape.backward = backward;
    shape.element_bytes = element_bytes(job_);
    list_.push_back({"core_attention", shape});
  }
  /// The sum of tokens x hidden over the tensor-parallel group; only this rank's part of it under sequence parallelism.
  void reduce_hidden(std::string_view role, bool beside_compute) {
    collective(role, job_.sequence_parallel ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
               hidden_bytes(), beside_compute);
  }
  /// All parts of a sequence, needed before a product; nothing without sequence parallelism.
  void gather_hidden(std::string_view role, bool beside_compute) {
    if (job_.sequence_parallel) collective(role, CollectiveKind::kAllGather, hidden_bytes(), beside_compute);
  }
  void collective(std::string_view role, CollectiveKind kind, double bytes, bool beside_compute) {
    if (tensor_group_.size > 1) list_.push_back({role, Collective{kind, bytes, tensor_group_}, 1, beside_compute});
  }
  std::vector<KernelWork> take() { return std::move(list_); }

 private:
  double hidden_bytes() const {
    return static_cast<double>(job_.seq_length * job_.micro_batch_size) * static_cast<double>(job_.hidden_size) *
           static_cast<double>(element_bytes(job_));
  }
  const Job& job_;
  GroupShape tensor_group_;
  std::vector<KernelWork> list_;
};

void add_attention_core(WorkList& work, const Job& job, const Sizes& s) {
  if (job.use_flash_attn) return work.attention(s, false);
  const int64_t matrices = s.batch * s.heads;
  work.gemm("attention_scores", job.seq_length, job.seq_length, job.kv_channels, matrices);
  // Fused: scale, mask and softmax in one pass that reads the causal half; else one whole pass each.
  if (job.masked_softmax_fusion) {
    work.move("attention_softmax", 1.5 * s.element * s.scores);
  } else {
    work.move("attention_softmax", 3 * 2 * s.element * s.scores, 3);
  }
  if (s.attention_drop) work.move("attention_dropout", (2 * s.element + 1) * s.scores);
  work.gemm("attention_context", job.seq_length, job.kv_channels, job.seq_length, matrices);
  work.move("attention_transpose", 2 * s.element * static_cast<double>(s.tokens * s.attention_width));
}

void add_attention_core_backward(WorkList& work, const Job& job, const Sizes& s) {
  if (job.use_flash_attn) return work.attention(s, true);
  const int64_t matrices = s.batch * s.heads;
  work.move("attention_transpose", 2 * s.element * static_cast<double>(s.tokens * s.attention_width));
  work.gemm("attention_context", job.seq_length, job.seq_length, job.kv_channels, matrices);
  work.gemm("attention_context", job.seq_length, job.kv_channels, job.seq_length, matrices);
  if (s.attention_drop) work.move("attention_dropout", (2 * s.element + 1) * s.scores);
  if (job.masked_softmax_fusion) {
    work.move("attention_softmax", 2 * s.element * s.scores);
  } else {
    work.move("attention_softmax", (3 * 2 + 1) * s.element * s.scores, 3);
  }
  work.gemm("attention_scores", job.seq_length, job.kv_channels, job.seq_length, matrices);
  work.gemm("attention_scores", job.seq_length, job.kv_channels, job.seq_length, matrices);
}

double qk_bytes(const Job& job, const Sizes& s) {
  return 2 * s.element * static_cast<double>(s.tokens * (s.heads + s.key_heads) * job.kv_channels);
}

void add_norm(WorkList& work, std::string_view role, const Sizes& s) {
  work.move(role, 2 * s.element * s.hidden_split);
}

/// Reads input and gradient, writes the input's gradient and adds the residual's; a second kernel sums up the weights'.
void add_norm_backward(WorkList& work, std::string_view role, const Sizes& s) {
  work.move(role, 5 * s.element * s.hidden_split, 2);
}

void add_residual(WorkList& work, std::string_view role, const Job& job, const Sizes& s) {
  const double mask = s.hidden_drop ? 1 : 0;
  const bool fused = job.bias_dropout_fusion || (!job.add_bias_linear && !s.hidden_drop);
  // Apart: bias, dropout and sum each read and write the whole activation.
  work.move(role, ((fused ? 3 : 7) * s.element + mask) * s.hidden_split, fused ? 1 : 3);
}

void add_residual_backward(WorkList& work, std::string_view role, const Job& job, const Sizes& s) {
  if (s.hidden_drop) work.move(role, (2 * s.element + 1) * s.hidden_split);
  if (job.add_bias_linear) work.move(role, s.element * s.hidden_split);
}

void add_activation(WorkList& work, const Job& job, const Sizes& s) {
  const double in = static_cast<double>(s.tokens * s.ffn_in), out = static_cast<double>(s.tokens * s.ffn);
  const bool apart = job.add_bias_linear && !job.bias_gelu_fusion;
  work.move("activation", s.element * (in + out + (apart ? 2 * in : 0)), apart ? 2 : 1);
}

void add_activation_backward(WorkList& work, const Job& job, const Sizes& s) {
  const double in = static_cast<double>(s.tokens * s.ffn_in), out = static_cast<double>(s.tokens * s.ffn);
  work.move("activation", s.element * (2 * in + out));
  if (job.add_bias_linear) work.move("linear_fc1", s.element * in);
}

std::vector<KernelWork> layer_forward(const Job& job, const Sizes& s, const GroupShape& group) {
  WorkList work(job, group);
  add_norm(work, "input_layernorm", s);
  work.gather_hidden("linear_qkv", false);
  work.gemm("linear_qkv", s.tokens, s.qkv_width, job.hidden_size);
  if (job.position_embedding_type == PositionEmbedding::kRope) work.move("rotary", qk_bytes(job, s), 2);
  add_attention_core(work, job, s);
  work.gemm("linear_proj", s.tokens, job.hidden_size, s.attention_width);
  work.reduce_hidden("linear_proj", false);
  add_residual(work, "self_attn_bda", job, s);
  add_norm(work, "pre_mlp_layernorm", s);
  work.gather_hidden("linear_fc1", false);
  work.gemm("linear_fc1", s.tokens, s.ffn_in, job.hidden_size);
  add_activation(work, job, s);
  work.gemm("linear_fc2", s.tokens, job.hidden_size, s.ffn);
  work.reduce_hidden("linear_fc2", false);
  add_residual(work, "mlp_bda", job, s);
  return work.take();
}

std::vector<KernelWork> layer_backward(const Job& job, const Sizes& s, const GroupShape& group) {
  WorkList work(job, group);
  add_residual_backward(work, "mlp_bda", job, s);
  work.gather_hidden("linear_fc2", false);
  work.gemm_backward("linear_fc2", s.tokens, job.hidden_size, s.ffn, false);
  add_activation_backward(work, job, s);
  work.gather_hidden("linear_fc1", job.async_tensor_model_parallel_allreduce);
  work.gemm_backward("linear_fc1", s.tokens, s.ffn_in, job.hidden_size, true);
  add_norm_backward(work, "pre_mlp_layernorm", s);
  add_residual_backward(work, "self_attn_bda", job, s);
  work.gather_hidden("linear_proj", false);
  work.gemm_backward("linear_proj", s.tokens, job.hidden_size, s.attention_width, false);
  add_attention_core_backward(work, job, s);
  if (job.position_embedding_type == PositionEmbedding::kRope) work.move("rotary", qk_bytes(job, s), 2);
  if (job.add_bias_linear) work.move("linear_qkv", s.element * static_cast<double>(s.tokens * s.qkv_width));
  work.gather_hidden("linear_qkv", job.async_tensor_model_parallel_allreduce);
  work.gemm_backward("linear_qkv", s.tokens, s.qkv_width, job.hidden_size, true);
  add_norm_backward(work, "input_layernorm", s);
  return work.take();
}

/// Bytes per logit of Megatron's vocabulary-parallel cross entropy. Apart: to fp32, maximum, subtract, exponent, sum,
/// divide, then scale the gradient and convert it back. Fused: two passes forward, one back.
constexpr double kLossForwardBytes = 38, kLossBackwardBytes = 14;
constexpr double kFusedLossForwardBytes = 12, kFusedLossBackwardBytes = 10;

}  // namespace

LayerWork transformer_layer_work(const Job& job, const Cluster& cluster) {
  const Sizes sizes(job);
  const GroupShape group = axis_group(job, cluster, ParallelAxis::kTensor);
  return {layer_forward(job, sizes, group), layer_backward(job, sizes, group)};
}

std::vector<KernelWork> attention_core_work(const Job& job) {
  WorkList work(job, GroupShape{1, 1});
  add_attention_core(work, job, Sizes(job));
  return work.take();
}

LayerWork embedding_work(const Job& job, const Cluster& cluster) {
  const Sizes s(job);
  const GroupShape group = axis_group(job, cluster, ParallelAxis::kTensor);
  const bool learned = job.position_embedding_type == PositionEmbedding::kLearnedAbsolute;
  WorkList forward(job, group);
  forward.move("word_embeddings", 2 * s.element * s.hidden);
  forward.reduce_hidden("word_embeddings", false);
  if (learned) forward.move("position_embeddings", 3 * s.element * s.hidden_split, 2);
  if (s.hidden_drop) forward.move("embedding_dropout", (2 * s.element + 1) * s.hidden_split);
  WorkList backward(job, group);
  if (s.hidden_drop) backward.move("embedding_dropout", (2 * s.element + 1) * s.hidden_split);
  backward.gather_hidden("word_embeddings", false);
  // A dense gradient: cleared, scattered into, and added to the main gradient.
  const double table = static_cast<double>(s.vocab) * static_cast<double>(job.hidden_size);
  backward.move("word_embeddings", s.element * (table + 3 * s.hidden), 3);
  backward.accumulate("word_embeddings", table);
  return {forward.take(), backward.take()};
}

LayerWork head_work(const Job& job, const Cluster& cluster) {
  const Sizes s(job);
  const GroupShape group = axis_group(job, cluster, ParallelAxis::kTensor);
  const double logits = static_cast<double>(s.tokens) * static_cast<double>(s.vocab);
  const bool fused = job.cross_entropy_loss_fusion;
  const double token_bytes = 4 * static_cast<double>(s.tokens);
  WorkList forward(job, group);
  add_norm(forward, "final_layernorm", s);
  forward.gather_hidden("output_layer", false);
  forward.gemm("output_layer", s.tokens, s.vocab, job.hidden_size);
  forward.move("cross_entropy", (fused ? kFusedLossForwardBytes : kLossForwardBytes) * logits, fused ? 3 : 8);
  // Maximum, target logit and sum of exponents are agreed between the parts of the vocabulary.
  for (int i = 0; i < (fused ? 2 : 3); ++i) {
    forward.collective("cross_entropy", CollectiveKind::kAllReduce, token_bytes, false);
  }
  WorkList backward(job, group);
  backward.move("cross_entropy", (fused ? kFusedLossBackwardBytes : kLossBackwardBytes) * logits, fused ? 2 : 3);
  backward.gather_hidden("output_layer", job.async_tensor_model_parallel_allreduce);
  backward.gemm_backward("output_layer", s.tokens, s.vocab, job.hidden_size, true);
  add_norm_backward(backward, "final_layernorm", s);
  return {forward.take(), backward.take()};
}

}  // namespace lumos

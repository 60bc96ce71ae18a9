#include "lumos/plan/parameters.h"

namespace lumos {
namespace {

/// Scale, and shift where the norm has one.
int64_t norm_parameters(const Job& job) {
  return job.hidden_size * (job.normalization == Normalization::kLayerNorm ? 2 : 1);
}

int64_t layer_parameters_split(const Job& job, int64_t tp) {
  const int64_t h = job.hidden_size;
  const int64_t attention_width = job.num_attention_heads * job.kv_channels / tp;
  const int64_t qkv_width = (job.num_attention_heads + 2 * job.num_query_groups) * job.kv_channels / tp;
  const int64_t ffn = job.ffn_hidden_size / tp;
  const int64_t ffn_in = ffn * (job.swiglu ? 2 : 1);
  const int64_t matrices = h * (qkv_width + attention_width + ffn_in + ffn);
  const int64_t biases = job.add_bias_linear ? qkv_width + h + ffn_in + h : 0;
  return matrices + biases + 2 * norm_parameters(job);
}

int64_t position_parameters(const Job& job) {
  return job.position_embedding_type == PositionEmbedding::kLearnedAbsolute
             ? job.max_position_embeddings * job.hidden_size
             : 0;
}

}  // namespace

int64_t layer_parameters(const Job& job) { return layer_parameters_split(job, job.tensor_model_parallel_size); }

int64_t word_embedding_parameters(const Job& job) {
  return padded_vocab_size(job) / job.tensor_model_parallel_size * job.hidden_size;
}

int64_t layers_per_chunk(const Job& job) { return job.num_layers / num_chunks(job); }

StageParameters stage_parameters(const Job& job, int64_t stage) {
  const int64_t last = job.pipeline_model_parallel_size - 1;
  StageParameters parameters;
  parameters.layers = layers_per_chunk(job) * job.virtual_pipeline_model_parallel_size * layer_parameters(job);
  if (stage == 0) parameters.embedding = word_embedding_parameters(job) + position_parameters(job);
  if (stage == last) {
    const bool own_matrix = job.untie_embeddings_and_output_weights || last > 0;
    parameters.head = norm_parameters(job) + (own_matrix ? word_embedding_parameters(job) : 0);
  }
  return parameters;
}

int64_t model_parameters(const Job& job) {
  const int64_t words = padded_vocab_size(job) * job.hidden_size;
  return job.num_layers * layer_parameters_split(job, 1) + words * (job.untie_embeddings_and_output_weights ? 2 : 1) +
         position_parameters(job) + norm_parameters(job);
}

}  // namespace lumos

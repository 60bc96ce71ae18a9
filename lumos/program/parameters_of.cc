#include "lumos/program/parameters_of.h"

namespace lumos {

double layer_parameters(const Job& job) {
  const auto hidden = static_cast<double>(job.hidden_size);
  const auto tensor = static_cast<double>(job.tensor_model_parallel_size);
  const auto queries = static_cast<double>(job.num_attention_heads * job.kv_channels);
  const auto keys = static_cast<double>(job.num_query_groups * job.kv_channels);
  const auto ffn = static_cast<double>(job.ffn_hidden_size);
  const double attention = hidden * (queries + 2 * keys) + queries * hidden;
  const double mlp = hidden * ffn * (job.swiglu ? 3 : 2);
  const double biases = job.add_bias_linear ? (queries + 2 * keys + ffn) / tensor + 2 * hidden : 0;
  const double norms = hidden * (job.normalization == Normalization::kLayerNorm ? 4 : 2);
  return (attention + mlp) / tensor + biases + norms;
}

double stage_parameters(const Job& job, int64_t layers, bool first, bool last) {
  const auto hidden = static_cast<double>(job.hidden_size);
  const double vocabulary =
      static_cast<double>(padded_vocab_size(job)) * hidden / static_cast<double>(job.tensor_model_parallel_size);
  double total = static_cast<double>(layers) * layer_parameters(job);
  if (first) total += vocabulary;
  if (first && job.position_embedding_type == PositionEmbedding::kLearnedAbsolute)
    total += static_cast<double>(job.max_position_embeddings) * hidden;
  // A tied head shares the embedding's weight; on another stage it is a copy that is optimized too.
  if (last && (!first || job.untie_embeddings_and_output_weights)) total += vocabulary;
  return total;
}

}  // namespace lumos

#include "lumos/plan/parameters.h"

#include "lumos/plan/make_plan.h"
#include "lumos/plan/ops/layer.h"

namespace lumos {
namespace {

int64_t weights_of(const std::vector<Op>& ops, const PlanSizes& sizes) {
  int64_t sum = 0;
  for (const Op& op : ops)
    for (const Extent& weight : op.weights) sum += sizes.of(weight);
  return sum;
}

/// Without the output matrix, which may be the word embedding's.
int64_t matrix_of_head(const std::vector<Op>& ops, const PlanSizes& sizes) {
  int64_t sum = 0;
  for (const Op& op : ops)
    for (const Extent& weight : op.weights)
      if (weight.has(ModelSize::kVocabulary)) sum += sizes.of(weight);
  return sum;
}

}  // namespace

int64_t layer_parameters(const Plan& plan) { return weights_of(plan.layer.forward, plan.sizes); }
int64_t layer_parameters(const Job& job) { return layer_parameters(plan_of_weights(job)); }

int64_t word_embedding_parameters(const Plan& plan) { return matrix_of_head(plan.head.forward, plan.sizes); }
int64_t word_embedding_parameters(const Job& job) { return word_embedding_parameters(plan_of_weights(job)); }

int64_t layers_per_chunk(const Job& job) { return job.num_layers / num_chunks(job); }

StageParameters stage_parameters(const Job& job, const Plan& plan, int64_t stage) {
  const int64_t last = job.pipeline_model_parallel_size - 1;
  StageParameters parameters;
  parameters.layers = layers_per_chunk(job) * job.virtual_pipeline_model_parallel_size * layer_parameters(plan);
  if (stage == 0) parameters.embedding = weights_of(plan.embedding.forward, plan.sizes);
  if (stage == last) {
    const bool own_matrix = job.untie_embeddings_and_output_weights || last > 0;
    const int64_t head = weights_of(plan.head.forward, plan.sizes);
    parameters.head = own_matrix ? head : head - word_embedding_parameters(plan);
  }
  return parameters;
}

StageParameters stage_parameters(const Job& job, int64_t stage) {
  return stage_parameters(job, plan_of_weights(job), stage);
}

int64_t model_parameters(const Job& job) {
  const Plan plan = unsharded_plan(job);
  const int64_t head = weights_of(plan.head.forward, plan.sizes);
  const int64_t shared = job.untie_embeddings_and_output_weights ? 0 : word_embedding_parameters(plan);
  return job.num_layers * layer_parameters(plan) + weights_of(plan.embedding.forward, plan.sizes) + head - shared;
}

}  // namespace lumos

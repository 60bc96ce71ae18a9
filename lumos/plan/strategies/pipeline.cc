// Pipeline parallelism: chunks of equal numbers of layers go from stage to stage, the embedding to the first, the head
// to the last. A tied matrix is then on both, which add up its gradients.
#include "lumos/plan/strategies/strategy.h"

namespace lumos {
namespace {

void step(const Job& job, Plan& plan) {
  using enum ModelSize;
  if (job.pipeline_model_parallel_size == 1) return;
  // Tensor-parallel ranks that each hold a part of the sequence send their part; others send the whole activation each,
  // or a part each that their stage gathers again.
  plan.message.elements = {kSequence, kBatch, kHidden};
  const bool in_parts = job.sequence_parallel || job.scatter_gather_tensors_in_pipeline;
  if (in_parts) plan.message.elements.cut(kSequence, Dimension::kTensor);
  plan.gathers_messages = in_parts && !job.sequence_parallel && job.tensor_model_parallel_size > 1;
  plan.sums_tied_embedding = !job.untie_embeddings_and_output_weights;
}

}  // namespace

Strategy pipeline_strategy() { return {.name = "pipeline", .step = step}; }

}  // namespace lumos

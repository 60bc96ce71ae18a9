// Data parallelism: replicas add up their gradients, all at once after the passes or bucket by bucket beside the last
// backward pass. Each keeps everything.
#include "lumos/plan/strategies/strategy.h"

namespace lumos {
namespace {

void step(const Job& job, Plan& plan) {
  plan.reduction = {"gradient_reduction", CollectiveKind::kAllReduce, Dimension::kData, NumberType::kGradient,
                    job.overlap_grad_reduce ? ExchangeMoment::kBesideBackward : ExchangeMoment::kAfterBackward};
  // All replicas have the same gradients: a norm is agreed on by the parts of the model.
  plan.agreement = {Dimension::kTensor, Dimension::kPipeline};
}

}  // namespace

Strategy data_strategy() { return {.name = "data", .step = step}; }

}  // namespace lumos

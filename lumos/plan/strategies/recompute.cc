// Recomputation (Korthikanti et al. 2022): a backward pass of a layer begins by running its forward ops again, or the
// attention's core, and what these keep is not kept until then.
#include <algorithm>

#include "lumos/plan/strategies/strategy.h"

namespace lumos {
namespace {

/// The share of a chunk's layers that is recomputed in full.
double repeated_layers(const Job& job) {
  if (job.recompute_method == RecomputeMethod::kUniform) return 1;
  const double layers = static_cast<double>(job.num_layers / num_chunks(job));
  return std::min(1.0, static_cast<double>(job.recompute_num_layers) / layers);
}

void step(const Job& job, Plan& plan) {
  switch (job.recompute_granularity) {
    case Recompute::kNone:
      return;
    case Recompute::kSelective:
      plan.repeats = Repeats::kAttentionCore;
      plan.repeated_layers = 1;
      return;
    case Recompute::kFull:
      plan.repeats = Repeats::kLayer;
      plan.repeated_layers = repeated_layers(job);
      return;
  }
}

}  // namespace

Strategy recompute_strategy() { return {.name = "recompute", .step = step}; }

}  // namespace lumos

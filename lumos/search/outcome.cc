#include "lumos/search/outcome.h"

#include <algorithm>

namespace lumos {

Outcome outcome_of(std::string id, const Job& job, const Estimate& estimate) {
  Outcome outcome;
  outcome.id = std::move(id);
  outcome.num_gpus = job.world_size;
  outcome.step_ms = estimate.step_ms;
  outcome.tokens_per_s = estimate.tokens_per_s;
  outcome.mfu_pct = estimate.mfu_pct;
  for (const StageMemory& stage : estimate.memory) outcome.peak_gib = std::max(outcome.peak_gib, stage.peak() / kGib);
  outcome.bubble_ms = estimate.pipeline_wait_ms;
  outcome.exposed_comm_ms = estimate.breakdown.exposed_comm_ms;
  outcome.fits = estimate.shortage.empty();
  return outcome;
}

double gpu_hours(const Outcome& outcome, double tokens) {
  return tokens / outcome.tokens_per_s / 3600 * static_cast<double>(outcome.num_gpus);
}

double training_price(const Outcome& outcome, double tokens, const Cluster& cluster) {
  return gpu_hours(outcome, tokens) * cluster.price_per_gpu_hour;
}

}  // namespace lumos

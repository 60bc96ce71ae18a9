// What a configuration costs: the figures of an estimate that people choose by, and what a training run of so many
// tokens comes to. Made by search from estimates or read back from a results file; read by the front and by renderers.
#pragma once

#include <string>

#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/job.h"
#include "lumos/plan/estimate.h"

namespace lumos {

struct Outcome {
  std::string id;  ///< of the configuration
  int64_t num_gpus = 0;
  double step_ms = 0;
  double tokens_per_s = 0;
  double mfu_pct = 0;
  double peak_gib = 0;
  double bubble_ms = 0;        ///< waiting for other pipeline stages, mean over stages
  double exposed_comm_ms = 0;  ///< the bubble included, mean over stages
  bool fits = true;
  bool simulated = false;   ///< the step and what follows from it are of a simulated graph, not an estimate
  double estimated_ms = 0;  ///< of a simulated one, the step that the estimate gave

  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(std::string id, const Job& job, const Estimate& estimate);

/// GPU-hours of training on `tokens` tokens, and their price at `price_per_gpu_hour`.
double gpu_hours(const Outcome& outcome, double tokens);
double training_price(const Outcome& outcome, double tokens, const Cluster& cluster);

}  // namespace lumos

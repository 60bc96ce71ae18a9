// What `lumos predict` answers: the step of a changed job beside the unchanged one, both simulated, and what was
// changed. Rendered as text and as lumos.predict.v1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/report/replay_result.h"

namespace lumos {

/// One change as the user wrote it, and how much it touched.
struct AppliedChange {
  std::string text;
  uint64_t tasks = 0;
  double time_ms = 0;  ///< of these tasks before the change, over all ranks and the whole trace
};

struct PredictResult {
  double measured_ms = 0;  ///< of the traces
  double base_ms = 0;      ///< simulated without the changes
  double predicted_ms = 0;
  double p10_ms = 0;  ///< over the steps of the traces, or the seeds of a prediction
  double p90_ms = 0;
  BreakdownMs base;
  BreakdownMs breakdown;
  double kernel_ms = 0;  ///< compute kernels and copies, per step and rank
  std::vector<AppliedChange> changes;
  std::vector<std::string> warnings;
};

/// Simulates both graphs and compares. `changed` has the tasks of `base` in the same order, with other durations; it is
/// simulated with the interference that `base` shows. `threads` as everywhere.
PredictResult predict_result(const ExecGraph& base, ExecGraph changed, int threads);

std::string predict_text(const PredictResult& result);
std::string predict_json(const PredictResult& result);

}  // namespace lumos

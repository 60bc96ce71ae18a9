// The step of a whole job, read off a timeline without anything else: what a what-if compares. Read by stragglers and
// predict.
#pragma once

#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// Mean over the ranks of the mean over their chosen steps, in milliseconds; 0 without any.
double simulated_step_ms(const ExecGraph& graph, const Timeline& timeline);

/// Every chosen step, the mean over the ranks that have one of its name: the spread of a job over its steps.
std::vector<double> simulated_steps_ms(const ExecGraph& graph, const Timeline& timeline);

/// What a step takes from the end of all that came before it to its own end. Equal to the mean step where each begins
/// when the GPU is done with the one before it, below it where they overlap: there a window also holds what is left of
/// the step before, and the further the host is ahead the more. Made once for a graph, read for any run of it.
class StepPace {
 public:
  explicit StepPace(const ExecGraph& graph);

  /// Mean over the chosen steps, then over the ranks, in milliseconds; 0 without any.
  double ms(const Timeline& timeline) const;

 private:
  const ExecGraph& graph_;
  std::vector<std::vector<uint32_t>> before_;  // by rank: the last task of each stream launched before the first step
};

}  // namespace lumos

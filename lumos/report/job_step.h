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

/// From the start of the first chosen step to the end of the last one, per step, mean over the ranks: below the mean
/// step where steps overlap. 0 where a step between is not chosen, or there is none.
double simulated_run_ms(const ExecGraph& graph, const Timeline& timeline);

}  // namespace lumos

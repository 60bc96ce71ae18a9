// The figures of one simulated step: its length and where the time goes, per planned rank and as the job's mean. Read
// by program/predict, which averages them over seeds.
#pragma once

#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// Milliseconds. The four parts sum to step_ms.
struct StepFigures {
  double step_ms = 0;
  double exposed_compute_ms = 0;
  double overlapped_ms = 0;
  double exposed_comm_ms = 0;
  double other_ms = 0;
  double kernel_ms = 0;  ///< sum of the durations of compute kernels

  StepFigures& operator+=(const StepFigures& other);
  StepFigures operator*(double factor) const;
};

/// Of one rank's step in a lowered graph: from the start of its first task to the end of its last one.
StepFigures step_figures(const ExecGraph& graph, const RankTasks& rank, const Timeline& timeline);

/// Mean over the ranks of the graph.
StepFigures mean_figures(const ExecGraph& graph, const Timeline& timeline);

}  // namespace lumos

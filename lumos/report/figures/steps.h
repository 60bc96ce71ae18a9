// Steps as windows of time, in the measured run and in a simulated one. Every figure of report/ is read off such a
// window. Made from the steps that graph/ found (ExecGraph::ranks[].steps); design.md "Definitions" says what a step
// is.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// [start_ns, end_ns) on the clock of the table or timeline that it was taken from.
struct Window {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t length_ns() const { return end_ns - start_ns; }
};

/// When a task ended in the measured run. A GPU task and the return of a synchronise call end with their event; the
/// pieces of a CPU event after their own time.
int64_t measured_end_ns(const ExecGraph& graph, const RankTasks& rank, uint32_t task);

/// From the start of the step to the start of the next one (without one: to the end of its last host task), extended to
/// the last end of what it launched.
Window measured_window(const ExecGraph& graph, const RankTasks& rank, const Step& step);
Window simulated_window(const Timeline& timeline, const Step& step);

/// The steps that results are read from, by index into rank.steps.
std::vector<uint32_t> chosen_steps(const RankTasks& rank);

}  // namespace lumos

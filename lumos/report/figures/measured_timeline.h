// The measured run in the form of a simulated one: when each task of a graph really ran, and which of its dependencies
// was the last to let it. Lets the walk along the critical path be taken in the measured run as well.
#pragma once

#include "lumos/graph/exec_graph.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// Measured starts and ends, each rank on its own clock; bindings by the measured ends of the sources, within the rank
/// alone, since clocks of ranks differ. O(tasks + edges).
Timeline measured_timeline(const ExecGraph& graph);

}  // namespace lumos

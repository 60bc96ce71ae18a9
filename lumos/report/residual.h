// How much of a measured run the dependencies of a graph leave unexplained. Reads measured times beside the graph; a
// judgement of the graph, never an input to a simulation. Read by replay and inspect.
#pragma once

#include <cstdint>

#include "lumos/graph/exec_graph.h"
#include "lumos/report/critical_path.h"

namespace lumos {

/// Measured start of `task` minus the latest start that its dependencies and the measured ends of their sources
/// explain. 0 for a task without dependencies or one that waits for other ranks, whose clocks differ.
int64_t residual_ns(const ExecGraph& graph, const RankTasks& rank, uint32_t task);

/// What the path of a step of rank `rank_index` leaves unexplained: the sum of |residual| over its tasks, and its time
/// in pieces that have no cause.
int64_t unexplained_ns(const ExecGraph& graph, uint32_t rank_index, const CriticalPath& path);

}  // namespace lumos

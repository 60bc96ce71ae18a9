// Algorithm 1 of the paper as one pass in topological order: a task starts when the last of its dependencies lets it.
// Deterministic to the nanosecond. Reads durations and edges, never measured times.
#pragma once

#include "lumos/graph/exec_graph.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// Simulates the whole graph from time 0. O(tasks + edges); no allocation beyond the result's columns.
Timeline simulate(const ExecGraph& graph);

/// The same into columns that are there already, for who simulates one graph many times.
void simulate_into(const ExecGraph& graph, Timeline& timeline);

}  // namespace lumos

// One rank's events become its execution graph: host and GPU programs, the four kinds of dependencies, the calibrated
// constants, the steps. The way in from trace/; its result is simulated, linked with other ranks, or recovered.
#pragma once

#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/exec_graph.h"

namespace lumos {

struct BuildOptions {
  bool inter_stream = true;   ///< false leaves out dependencies between streams, as earlier tools do
  bool use_sync_rows = true;  ///< false infers what cuda_sync rows would tell
  const std::vector<Constant>* constants = nullptr;  ///< use these instead of fitting
};

/// Builds the graph of one rank. O(n log n); never fails: a table without tasks gives a graph without tasks.
ExecGraph build_graph(std::shared_ptr<const EventTable> table, const BuildOptions& options);

}  // namespace lumos

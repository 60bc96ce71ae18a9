// The dependencies between streams that a graph holds, one by one: who waits for whom, how it is known and how sure
// that is. Made from a graph; printed by `lumos inspect --dependencies`.
#pragma once

#include <string>
#include <vector>

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// One wait of a work on one stream for a work on another. Rows index the rank's table.
struct StreamDependency {
  uint32_t waiting_row = 0;
  uint32_t source_row = 0;
  bool recorded = false;
  uint8_t confidence_pct = 0;
  bool binding = false;  ///< in the measured run nothing else let the waiting work start later
};

/// In order of the waiting work's measured start.
std::vector<StreamDependency> stream_dependencies(const ExecGraph& graph, const RankTasks& rank);

/// lumos.dependencies.v1: every dependency, confidence as a share of 1.
std::string dependencies_json(const ExecGraph& graph);

/// For people: per pair of streams and kernels how often, how known, how sure, how often it was binding.
std::string dependencies_text(const ExecGraph& graph);

}  // namespace lumos

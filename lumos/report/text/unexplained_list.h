// The tasks whose measured start no dependency explains, largest first, with what ran before on every processor, so
// that a person can see what the graph misses. Made from a graph; printed by `lumos inspect --unexplained`.
#pragma once

#include <string>
#include <vector>

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// What a processor had last ended, or was running, when an unexplained task began.
struct Neighbour {
  uint32_t processor = 0;
  uint32_t task = 0;
  int64_t ended_before_ns = 0;  ///< negative: still running
};

struct UnexplainedTask {
  uint32_t task = 0;
  int64_t residual_ns = 0;            ///< measured start minus the latest explained start; kept gaps: their length
  bool kept = false;                  ///< the replay keeps the time, as a gap
  std::vector<Neighbour> neighbours;  ///< nearest end first
};

/// The `most` largest |residual| of a rank. O(tasks log tasks).
std::vector<UnexplainedTask> unexplained_tasks(const ExecGraph& graph, const RankTasks& rank, size_t most);

std::string unexplained_text(const ExecGraph& graph, size_t most);
/// lumos.unexplained.v1
std::string unexplained_json(const ExecGraph& graph, size_t most);

}  // namespace lumos

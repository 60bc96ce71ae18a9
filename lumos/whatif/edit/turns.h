// Communication that runs alone: the order in which a rank's compute and the chosen collectives take turns, as new
// dependencies. Found by running the job once under that rule, so that the order is one that can happen. Used by
// whatif/edit/change for `--overlap none`.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/graph/job/link.h"

namespace lumos {

struct Turns {
  std::vector<std::pair<uint32_t, Edge>> edges;  ///< with the task that waits; they close no cycle
  uint64_t beside = 0;                           ///< chosen kernels that cannot run alone: they wait for that compute
};

/// `graph` is the linked graph, perhaps with other durations and lags; `chosen` says which kernels of the job's matches
/// run alone, each from its arrival to the end of its transfer. A collective comes to a rank when all its members can
/// come: until then compute goes on, from then on it waits. O(edges log tasks).
Turns take_turns(const ExecGraph& graph, const LinkedGraph& linked, const std::vector<bool>& chosen);

}  // namespace lumos

// How much of a measured run the dependencies of a graph leave unexplained. Reads measured times beside the graph; a
// judgement of the graph, never an input to a simulation. Read by replay and inspect.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/report/figures/critical_path.h"

namespace lumos {

/// Measured start of `task` minus the latest start that its dependencies and the measured ends of their sources
/// explain. 0 for a task without dependencies or one that waits for other ranks, whose clocks differ.
int64_t residual_ns(const ExecGraph& graph, const RankTasks& rank, uint32_t task);

/// Finds CPU time between events that looks like a wait: it ends where the work of another thread or of the GPU ends.
/// Of one rank; made once, asked for the tasks on a path.
class HiddenWaits {
 public:
  HiddenWaits(const ExecGraph& graph, const RankTasks& rank);

  /// Measured length of `task` if it is untraced host time that ends just after a stretch of work elsewhere did, and
  /// no dependency says so; else 0.
  int64_t wait_ns(uint32_t task) const;

 private:
  struct WorkEnd {
    int64_t end_ns;
    int64_t length_ns;
    uint32_t processor;
  };
  const ExecGraph& graph_;
  const RankTasks& rank_;
  std::vector<WorkEnd> ends_;  ///< of stretches of work without a gap, by time
};

/// What a path through rank `rank_index` leaves unexplained: the sum of |residual| over its tasks, hidden waits, and
/// its time in pieces that have no cause.
int64_t unexplained_ns(const ExecGraph& graph, uint32_t rank_index, const CriticalPath& path,
                       const HiddenWaits& hidden_waits);

}  // namespace lumos

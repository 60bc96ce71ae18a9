// A graph while it is being made: tasks in any order, edges as a list. finish_graph() numbers tasks so that edges go
// from lower to higher ids, packs the edges by target, and drops the least believed edge of any cycle.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/exec_graph.h"

namespace lumos {

struct DraftTask {
  uint32_t event = kNoIndex;
  uint32_t processor = kNoProcessor;
  int64_t duration_ns = 0;
  int64_t measured_start_ns = 0;
  TaskKind kind = TaskKind::kHost;
};

struct DraftEdge {
  uint32_t target = 0;
  Edge edge;
};

struct GraphDraft {
  std::vector<DraftTask> tasks;
  std::vector<DraftEdge> edges;

  uint32_t add(const DraftTask& task) {
    tasks.push_back(task);
    return static_cast<uint32_t>(tasks.size() - 1);
  }
  void depend(uint32_t target, uint32_t source, EdgeKind kind, int64_t lag_ns = 0, bool from_start = false,
              bool recorded = true, uint8_t confidence_pct = 100);
};

struct FinishedGraph {
  ExecGraph graph;               ///< tasks and edges; processors and ranks are left to the caller
  std::vector<uint32_t> new_id;  ///< of each draft task
  uint32_t dropped_edges = 0;    ///< edges that would have closed a cycle
};

/// O(tasks + edges). Deterministic.
FinishedGraph finish_graph(const GraphDraft& draft);

}  // namespace lumos

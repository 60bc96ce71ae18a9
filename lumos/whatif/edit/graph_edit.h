// Edits of a graph's dependencies, collected and then made at once: edges that no longer hold, and new ones. Tasks and
// their numbering stay. Used by whatif/change.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/exec_graph.h"

namespace lumos {

class GraphEdit {
 public:
  explicit GraphEdit(ExecGraph graph) : graph_(std::move(graph)), dropped_(graph_.edges.size(), false) {}

  /// The graph with the durations and lags changed so far, and its edges as they were.
  ExecGraph& graph() { return graph_; }
  const ExecGraph& graph() const { return graph_; }

  void drop(uint32_t edge) { dropped_[edge] = true; }
  bool is_dropped(uint32_t edge) const { return dropped_[edge]; }
  void add(uint32_t target, const Edge& edge) { added_.emplace_back(target, edge); }

  /// Makes the edits. The last dependency of a task is never dropped, it loses its lag instead: a task without any
  /// would run at time 0. Errors: kUsage when new edges close a cycle.
  Result<ExecGraph> finish();

 private:
  ExecGraph graph_;
  std::vector<bool> dropped_;
  std::vector<std::pair<uint32_t, Edge>> added_;
};

}  // namespace lumos

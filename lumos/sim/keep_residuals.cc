#include "lumos/sim/keep_residuals.h"

#include <algorithm>
#include <limits>

#include "lumos/base/result.h"

namespace lumos {

namespace {

int32_t to_lag(int64_t ns) {
  constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::clamp(ns, kLowest, kHighest));
}

// Start of a task if only its dependencies decide.
int64_t explained_start_ns(const ExecGraph& graph, uint32_t task, const std::vector<int64_t>& start_ns) {
  int64_t latest = std::numeric_limits<int64_t>::min();
  for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
    const Edge& edge = graph.edges[e];
    const int64_t from = start_ns[edge.source] + (edge.from_start ? 0 : graph.duration_ns[edge.source]);
    latest = std::max(latest, from + edge.lag_ns);
  }
  return latest;
}

}  // namespace

namespace {

/// When every task started, measured, each rank counted from its own first task; linked ranks follow each other by what
/// the task in front of each holds. A rendezvous starts with its last arrival.
std::vector<int64_t> measured_starts(const ExecGraph& graph, std::vector<uint32_t>& first_of_rank) {
  std::vector<int64_t> start_ns(graph.size(), 0);
  uint32_t end = 0;
  for (const RankTasks& rank : graph.ranks) {
    int64_t origin_ns = std::numeric_limits<int64_t>::max();
    uint32_t first = kNoIndex;  // the task that everything without a dependency is pinned to
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      if (graph.measured_start_ns[task] < origin_ns) {
        origin_ns = graph.measured_start_ns[task];
        first = task;
      }
    }
    first_of_rank.push_back(first);
    const bool linked = first != kNoIndex && graph.kind[rank.first_task] == TaskKind::kRendezvous;
    const int64_t offset_ns = linked ? graph.duration_ns[rank.first_task] : 0;
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      start_ns[task] = graph.measured_start_ns[task] - origin_ns + offset_ns;
    }
    if (linked) start_ns[rank.first_task] = 0;
    end = std::max(end, rank.end_task);
  }
  for (uint32_t task = end; task < graph.size(); ++task) {
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      start_ns[task] = std::max(start_ns[task], start_ns[graph.edges[e].source]);
    }
  }
  return start_ns;
}

}  // namespace

namespace {

// Of the tasks before `task` in its rank the one that ended last before it began: what a wait of more than a lag can
// hold is counted from, whatever the task waited for.
uint32_t ended_before(const ExecGraph& graph, const RankTasks& rank, uint32_t task,
                      const std::vector<int64_t>& start_ns) {
  uint32_t nearest = rank.first_task;
  int64_t latest = std::numeric_limits<int64_t>::min();
  for (uint32_t t = rank.first_task; t < task; ++t) {
    const int64_t end_ns = start_ns[t] + graph.duration_ns[t];
    if (end_ns > start_ns[task] || end_ns < latest) continue;
    latest = end_ns;
    nearest = t;
  }
  return nearest;
}

}  // namespace

ExecGraph keep_residuals(const ExecGraph& graph) {
  ExecGraph kept = graph;
  kept.edges.clear();
  std::vector<uint32_t> first_of_rank;
  const std::vector<int64_t> start_ns = measured_starts(graph, first_of_rank);
  size_t rank = 0;
  for (uint32_t task = 0; task < graph.size(); ++task) {
    while (rank < graph.ranks.size() && task >= graph.ranks[rank].end_task) ++rank;
    const bool in_rank = rank < graph.ranks.size() && task >= graph.ranks[rank].first_task;
    const uint32_t begin = graph.edge_begin[task], end = graph.edge_begin[task + 1];
    kept.edge_begin[task] = static_cast<uint32_t>(kept.edges.size());
    const int64_t residual_ns =
        begin == end || !in_rank ? 0 : start_ns[task] - explained_start_ns(graph, task, start_ns);
    const bool pinned = begin == end && in_rank && start_ns[task] > 0 && first_of_rank[rank] < task;
    const bool too_long = in_rank && (pinned ? start_ns[task] : residual_ns) > std::numeric_limits<int32_t>::max() / 2;
    for (uint32_t e = begin; e < end; ++e) {
      Edge edge = graph.edges[e];
      if (!too_long) edge.lag_ns = to_lag(edge.lag_ns + residual_ns);
      kept.edges.push_back(edge);
    }
    if (too_long) {
      const uint32_t source = ended_before(graph, graph.ranks[rank], task, start_ns);
      const int64_t lag_ns = start_ns[task] - start_ns[source] - graph.duration_ns[source];
      kept.edges.push_back({source, to_lag(lag_ns), EdgeKind::kThread, false, false, 0});
    } else if (pinned) {
      kept.edges.push_back({first_of_rank[rank], to_lag(start_ns[task]), EdgeKind::kThread, true, false, 0});
    }
  }
  kept.edge_begin[graph.size()] = static_cast<uint32_t>(kept.edges.size());
  return kept;
}

}  // namespace lumos

#include "lumos/report/residual.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "lumos/report/steps.h"

namespace lumos {

namespace {

bool belongs_to(const RankTasks& rank, uint32_t task) { return task >= rank.first_task && task < rank.end_task; }

}  // namespace

int64_t residual_ns(const ExecGraph& graph, const RankTasks& rank, uint32_t task) {
  int64_t explained_ns = std::numeric_limits<int64_t>::min();
  for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
    const Edge& edge = graph.edges[e];
    if (edge.kind == EdgeKind::kRendezvous || !belongs_to(rank, edge.source)) return 0;
    const int64_t base_ns =
        edge.from_start ? graph.measured_start_ns[edge.source] : measured_end_ns(graph, rank, edge.source);
    explained_ns = std::max(explained_ns, base_ns + edge.lag_ns);
  }
  if (explained_ns == std::numeric_limits<int64_t>::min()) return 0;
  return graph.measured_start_ns[task] - explained_ns;
}

int64_t unexplained_ns(const ExecGraph& graph, uint32_t rank_index, const CriticalPath& path) {
  const RankTasks& rank = graph.ranks[rank_index];
  int64_t sum_ns = 0;
  for (const PathPiece& piece : path.pieces) {
    if (piece.cause == PathCause::kUnexplained) sum_ns += piece.length_ns();
  }
  for (uint32_t task : path.tasks) {
    if (belongs_to(rank, task)) sum_ns += std::abs(residual_ns(graph, rank, task));
  }
  return sum_ns;
}

}  // namespace lumos

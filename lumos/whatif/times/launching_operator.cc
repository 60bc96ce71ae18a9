#include "lumos/whatif/times/launching_operator.h"

namespace lumos {

std::vector<uint32_t> launching_rows(const ExecGraph& graph, const RankTasks& rank) {
  std::vector<uint32_t> rows(rank.end_task - rank.first_task, kNoIndex);
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    if (!is_gpu_task(graph.kind[task])) continue;
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      const Edge& edge = graph.edges[e];
      if (edge.kind == EdgeKind::kLaunch) rows[task - rank.first_task] = graph.event[edge.source];
    }
  }
  return rows;
}

}  // namespace lumos

#include "lumos/report/figures/row_times.h"

#include <algorithm>

namespace lumos {

std::vector<RowTimes> replayed_rows(const ExecGraph& graph, const Timeline& timeline, const RankTasks& rank) {
  std::vector<RowTimes> rows(rank.table->size());
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    if (graph.event[task] == kNoIndex) continue;
    RowTimes& row = rows[graph.event[task]];
    row.start_ns = std::min(row.start_ns, timeline.start_ns[task]);
    row.end_ns = std::max(row.end_ns, timeline.end_ns[task]);
  }
  return rows;
}

}  // namespace lumos

// When the events of a rank ran in a replay, by row of its table. Read by csv_export and python/.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// When the tasks of one row ran; a collective kernel is two tasks. The start is after the end where none was
/// simulated.
struct RowTimes {
  int64_t start_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;
};

/// One entry per row of the rank's table. O(rows + tasks of the rank).
std::vector<RowTimes> replayed_rows(const ExecGraph& graph, const Timeline& timeline, const RankTasks& rank);

}  // namespace lumos

// What ran beside what in the traces: how long each GPU row overlapped with work of the other sort, and how much slower
// that made it. Predictions take that out of durations and put in what the changed run overlaps. Read by
// program/predict.
#pragma once

#include <vector>

#include "lumos/program/lower/lower.h"
#include "lumos/program/measure/transfers.h"
#include "lumos/sim/interference.h"

namespace lumos {

/// Of one rank, per row of its table.
struct RowLoad {
  LoadClass load = LoadClass::kCount;
  int64_t overlap_ns = 0;
};

struct MeasuredLoads {
  std::vector<std::vector<RowLoad>> rows;  ///< parallel to Program::ranks
  Interference interference;               ///< mean over the ranks
};

/// `graphs` are those that `program` was made of. O(tasks log tasks).
MeasuredLoads measure_loads(const std::vector<ExecGraph>& graphs, const Program& program,
                            const std::vector<RankTransfers>& transfers, int threads = 0);

/// The loads of the tasks of a graph that was lowered with `times`. What a duration has grown by, its measured overlap
/// has, too; of a transfer only the part in which bytes move.
std::vector<TaskLoad> loads_of(const ExecGraph& graph, const std::vector<TaskOrigin>& origins, const Program& program,
                               const std::vector<RankTransfers>& transfers, const TaskTimes& times,
                               const MeasuredLoads& measured);

}  // namespace lumos

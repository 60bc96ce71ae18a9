// What the profiler itself cost the CPU: how much of each host task is its bookkeeping and not the program's time.
// Estimated from the trace alone; read by whatif/edit/scale, because a faster or slower program leaves that part as it
// is.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// Bookkeeping per event of one rank, in nanoseconds.
struct ProfilerCost {
  int64_t per_call_ns = 0;  ///< behind every runtime call, where its activity record is written
  int64_t per_op_ns = 0;    ///< at the start of every operator, where its record is opened
};

/// Per runtime call: what even the shortest gaps between two calls of one operator hold. Per operator: times of an
/// operator vary in proportion to their length, bookkeeping does not, so over all operators the line of median against
/// spread meets spread zero at the bookkeeping. Zero where the trace has too few of either.
ProfilerCost estimate_profiler_cost(const EventTable& table);

/// The part of each task's duration that is bookkeeping, for the tasks of one rank from rank.first_task on.
std::vector<int64_t> profiler_part(const ExecGraph& graph, const RankTasks& rank, const ProfilerCost& cost);

/// The same for all tasks of a job. Ranks in parallel.
std::vector<int64_t> profiler_ns(const ExecGraph& graph, int threads);

}  // namespace lumos

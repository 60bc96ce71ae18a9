// How much of each task is the program's own CPU time: what a faster or slower CPU changes. The rest of the CPU side is
// the profiler's bookkeeping, calls that were blocked, and threads that had nothing to do. Read by whatif/scale.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// The program's CPU time in each task of a rank, from rank.first_task on, at most its duration; 0 for GPU tasks.
std::vector<int64_t> program_cpu_ns(const ExecGraph& graph, const RankTasks& rank);

}  // namespace lumos

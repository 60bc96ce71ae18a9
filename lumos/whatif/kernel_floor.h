// What even an empty kernel takes on a rank's GPU, and how full each kernel has the GPU: the two things a kernel's time
// is split by before a part of it is changed. From the trace alone; read by whatif/scale_batch and
// whatif/other_cluster.
#pragma once

#include <cstdint>

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// Blocks over what the GPU holds at once; 0 where the trace does not tell, or where there are just as many blocks as
/// multiprocessors: then they are a crew that shares the work, and their number says nothing about it.
double kernel_waves(const EventTable& table, uint32_t row);

/// Nanoseconds of the usual kernel that is too small to fill a tenth of the GPU: it takes what starting and ending
/// take. Without such kernels, what the shortest fiftieth takes.
int64_t kernel_floor_ns(const ExecGraph& graph, const RankTasks& rank);

}  // namespace lumos

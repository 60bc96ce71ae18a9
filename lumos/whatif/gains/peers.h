// How each rank's kernels compare with the same kernels of the other ranks: who is slower than its peers, by how much.
// Read by whatif/gains/candidates and report/stragglers.
#pragma once

#include <vector>

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// A rank this much slower than the median is within what one rank differs from another anyway.
inline constexpr double kNotableSlowdown = 1.002;

/// By rank: its kernels' time over what the same kernels (name and grid) take on the median rank; 1 where no other rank
/// runs the same. Ranks in parallel.
std::vector<double> kernel_slowdowns(const ExecGraph& graph, int threads);

}  // namespace lumos

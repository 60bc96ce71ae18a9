// A GPU places the blocks of kernels in the order in which they became ready: a kernel on another stream waits until
// the last blocks of the running one are placed, which is all but its last wave. Found where the trace confirms it for
// the running kernel; read by graph/build.
#pragma once

#include <vector>

#include "lumos/graph/rank/rank_programs.h"

namespace lumos {

/// Kernels that wait for the blocks of one on another stream to be placed. Needs the launch configurations and the
/// device of the trace; empty where these are unknown or the measured starts do not bear the rule out. O(works x
/// streams).
std::vector<FirstWave> find_full_gpu(const RankPrograms& programs);

}  // namespace lumos

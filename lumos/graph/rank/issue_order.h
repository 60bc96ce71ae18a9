// One connection (CUDA_DEVICE_MAX_CONNECTIONS=1, usual with Megatron): works of all streams start in the order in which
// they were launched. Found by works that were ready and still did not overtake. Read by graph/build.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/rank/rank_programs.h"

namespace lumos {

/// Empty unless the trace shows one connection: many works that could have overtaken the one launched before them, and
/// hardly any that did.
std::vector<IssueOrder> find_issue_order(const RankPrograms& programs);

}  // namespace lumos

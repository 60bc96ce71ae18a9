// Launch calls and the GPU rows that they started, by correlation: the arrows that trace writers draw.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/trace/event_table.h"

namespace lumos {

struct LaunchFlow {
  uint32_t call = 0;  ///< row of the runtime call
  uint32_t work = 0;  ///< row of the kernel, copy or fill; one call of a graph launch owns many
};

/// In the order of the GPU rows. Calls without GPU work and GPU rows without a call are not in it. O(n log n).
std::vector<LaunchFlow> launch_flows(const EventTable& table);

}  // namespace lumos

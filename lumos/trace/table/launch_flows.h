// Launch calls and the GPU rows that they started, by correlation: the one place that decides which call launched what.
// Read by graph/ for dependencies, by report/ for counts and by the trace writers for the arrows that they draw.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

struct LaunchFlow {
  uint32_t call = 0;  ///< row of the runtime call
  uint32_t work = 0;  ///< row of the kernel, copy or fill; one call of a graph launch owns many
};

/// In the order of the GPU rows. Calls without GPU work and GPU rows without a call are not in it. Ids may repeat in
/// merged files: of the calls with a row's correlation it is the last that began before the row did. Where several
/// processes use the same ids (several ranks in one file), a device's rows belong to the process that launched on it as
/// far as time allows. O(n log n).
std::vector<LaunchFlow> launch_flows(const EventTable& table);

}  // namespace lumos

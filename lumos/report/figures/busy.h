// When something ran, as plain intervals: what breakdown and utilisation sweep over. Made once per table, measured or
// replayed. In a trace without GPU work the operators take the place of kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lumos/report/figures/steps.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

struct BusyInterval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool communication = false;
  float sm_share = 0;  ///< share of the GPU's SMs that the kernel's grid can fill, 0 to 1
};

/// Intervals of all work, sorted by start. Rows without duration are left out.
std::vector<BusyInterval> busy_intervals(const EventTable& table);

/// Leaves out the intervals at the front that end by `start_ns`: steps come in order, and each looks from there on.
inline void skip_before(std::span<const BusyInterval>& intervals, int64_t start_ns) {
  while (!intervals.empty() && intervals.front().end_ns <= start_ns) intervals = intervals.subspan(1);
}

/// Share of the SMs that a kernel can fill at once: its blocks against the blocks that fit into all SMs by threads,
/// registers and shared memory. 1 where the trace does not tell the grid or the device; 0 for copies and fills.
float sm_share(const EventTable& table, size_t row);

}  // namespace lumos

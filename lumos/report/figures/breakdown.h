// Where the time of a step goes: the paper's four components, which sum to the step to the nanosecond. Computed from
// busy intervals of a measured or replayed table by the same code; read by every command that shows a breakdown.
#pragma once

#include <cstdint>
#include <span>

#include "lumos/report/figures/busy.h"
#include "lumos/report/figures/steps.h"

namespace lumos {

/// Nanoseconds, of one window or summed over several.
struct Breakdown {
  int64_t exposed_compute_ns = 0;  ///< compute and no communication
  int64_t overlapped_ns = 0;       ///< both
  int64_t exposed_comm_ns = 0;     ///< communication and no compute
  int64_t other_ns = 0;            ///< neither

  int64_t total_ns() const { return exposed_compute_ns + overlapped_ns + exposed_comm_ns + other_ns; }
  Breakdown& operator+=(const Breakdown& other);
};

/// The breakdown of `window`. `intervals` are sorted by start; what lies outside is cut off. O(intervals that overlap
/// the window or precede it).
Breakdown breakdown(std::span<const BusyInterval> intervals, Window window);

}  // namespace lumos

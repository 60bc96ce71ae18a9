// Rows of a trace whose numbers contradict each other: what a damaged or edited file looks like although every event of
// it can be read. Counted for the inventory of a rank; `lumos inspect` says it.
#pragma once

#include <cstdint>

#include "lumos/trace/table/event_table.h"

namespace lumos {

struct OddTimes {
  uint64_t repeated_calls = 0;    ///< runtime calls whose correlation id another call has, too
  uint64_t overlapping_work = 0;  ///< GPU rows that lie wholly within another of their stream; a dependent launch
                                  ///< may begin early (programmatic dependent launch), but not end first
  uint64_t before_launch = 0;     ///< GPU rows that begin before the call that launched them
  uint64_t without_duration = 0;  ///< GPU rows, or operators where there are none, that take no time
  uint64_t calls = 0;             ///< runtime calls with a correlation id
  uint64_t work = 0;              ///< of which without_duration are some
};

/// O(n log n) in the rows. Times that differ by no more than traces are exact to (2 us) contradict nothing; rows of one
/// launch (CUDA graphs) may overlap.
OddTimes odd_times(const EventTable& table);

}  // namespace lumos

// Which row encloses which on the same lane. A trace tells only times; operators, annotations and runtime calls of a
// thread nest by them. Read by sim/ (intervals of enclosing events), report/ and the trace writers.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

struct Nesting {
  std::vector<uint32_t> order;   ///< rows by lane, then start, then longest first, then file order: parents come first
  std::vector<uint32_t> parent;  ///< of each row: the innermost row of its lane that it starts inside of, or kNoIndex
};

/// Nesting of all rows. On GPU lanes only annotations enclose: kernels there may overlap, and never nest. A child may
/// end after its parent by the profiler's rounding; it is a child all the same. O(n log n).
Nesting nesting(const EventTable& table);

/// The innermost row of `lane` that the moment `ts_ns` lies in, its start and end included, or kNoIndex. O(log n +
/// depth).
uint32_t innermost_row(const EventTable& table, const Nesting& nested, uint32_t lane, int64_t ts_ns);

}  // namespace lumos

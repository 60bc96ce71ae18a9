// The CPU side of one rank: nested events of every thread become exclusive segments in program order, so that each
// nanosecond of a thread belongs to one segment. Made from an EventTable; read by the passes of graph/build.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/graph/host/runtime_calls.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// A piece of a thread's time during which the innermost event is the same.
struct HostSegment {
  uint32_t row = kNoIndex;  ///< the innermost event; kNoIndex: untraced host time
  uint32_t thread = 0;      ///< index into HostProgram::threads
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool is_call = false;  ///< the first segment of a runtime call: the point that touches the GPU
};

struct HostThread {
  uint32_t lane = 0;
  uint32_t first_segment = 0;
  uint32_t end_segment = 0;
};

struct HostCall {
  uint32_t row = 0;
  uint32_t thread = 0;
  CallKind kind = CallKind::kOther;
};

struct HostProgram {
  std::vector<HostSegment> segments;  ///< grouped by thread, in program order
  std::vector<HostThread> threads;
  std::vector<uint32_t> segment_of_row;  ///< first segment of an event, kNoIndex where it has none
  std::vector<uint32_t> parent;          ///< innermost enclosing CPU event of a row, kNoIndex at top level
  std::vector<HostCall> calls;           ///< all runtime calls of kept threads by (start, row)
  std::vector<std::string> left_out;     ///< threads that only poll, by name
  int64_t origin_ns = 0;                 ///< earliest event of the trace: the simulation's time 0
};

/// O(n log n) in the number of events. Children that end after their parents (rounding) extend them; time never runs
/// backwards on a thread.
HostProgram build_host_program(const EventTable& table);

}  // namespace lumos

// The launch queue: a stream holds only so many works that have not ended; a launch beyond that blocks until the oldest
// has. Found by calls that took far longer than their kind and returned at one and the same depth. Read by graph/build.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/host/gpu_program.h"
#include "lumos/graph/host/host_program.h"

namespace lumos {

struct LaunchQueue {
  uint32_t depth = 0;             ///< works that a stream holds; 0: the trace never shows it full
  std::vector<uint32_t> blocked;  ///< calls (indexes into HostProgram::calls) that were held, ascending
  int64_t return_ns = 0;          ///< from the end of the work that made room to the return of the call
  int64_t call_ns = 0;            ///< what a launch call costs when it is not held
};

LaunchQueue find_launch_queue(const EventTable& table, const HostProgram& host, const GpuProgram& gpu);

}  // namespace lumos

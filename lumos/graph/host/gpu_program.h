// The GPU side of one rank: the work of every stream in order, and which call launched it. Made from an EventTable and
// its HostProgram; read by the passes of graph/build.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/host/host_program.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

struct GpuWork {
  uint32_t row = 0;
  uint32_t stream = 0;       ///< index into GpuProgram::stream_lane
  uint32_t call = kNoIndex;  ///< index into HostProgram::calls; kNoIndex: launched where the trace does not show
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool communication = false;  ///< collective metadata or a collective's name
  bool in_graph = false;       ///< one of several launched by one call
};

struct GpuProgram {
  std::vector<GpuWork> work;           ///< grouped by stream, in order of start
  std::vector<uint32_t> stream_begin;  ///< streams + 1
  std::vector<uint32_t> stream_lane;
  std::vector<uint32_t> by_call_begin;  ///< calls + 1: work of call c is by_call[by_call_begin[c] ..)
  std::vector<uint32_t> by_call;        ///< indexes into work, in order of start

  uint32_t streams() const { return static_cast<uint32_t>(stream_lane.size()); }
};

/// Launches are found by correlation; rows without one by External id and order. O(n log n).
GpuProgram build_gpu_program(const EventTable& table, const HostProgram& host);

/// When each work was launched, made non-decreasing along its stream; works without a launch count as
/// launched with the one before them (INT64_MIN at the beginning: before the recording).
std::vector<int64_t> launch_order_ns(const EventTable& table, const HostProgram& host, const GpuProgram& gpu);

}  // namespace lumos

// What the events of fully sharded jobs mean. PyTorch's fully_shard keeps events of a unit's gather, copy-out and
// reduction and waits for them much later, on streams it names: nothing at the wait tells. Its operators (copies in and
// out, their collectives) tell where in a unit's life a call stands, and with it which event of which unit is meant.
// Made from the host and GPU programs; read by graph/waits/stream_waits.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/host/call_context.h"
#include "lumos/graph/host/gpu_program.h"
#include "lumos/graph/host/host_program.h"
#include "lumos/graph/waits/current_stream.h"
#include "lumos/graph/waits/event_pairs.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// A stream waits for what was recorded. Calls index HostProgram::calls, streams GpuProgram::stream_lane.
struct UnitWait {
  uint32_t stream = kNoIndex;
  uint32_t record = kNoIndex;  ///< the call; kNoIndex: this wait is none of a unit's
};

/// By index of HostProgram::calls; empty where the job is not sharded so.
struct UnitEvents {
  std::vector<uint32_t> record_stream;  ///< the stream whose point is recorded; kNoIndex: no event of a unit
  std::vector<UnitWait> waits;

  bool records(uint32_t call) const { return !record_stream.empty() && record_stream[call] != kNoIndex; }
  bool waits_for_unit(uint32_t call) const { return !waits.empty() && waits[call].record != kNoIndex; }
};

UnitEvents find_unit_events(const EventTable& table, const HostProgram& host, const GpuProgram& gpu,
                            const CallContexts& contexts, const CurrentStreams& current, const EventPairs& pairs);

}  // namespace lumos

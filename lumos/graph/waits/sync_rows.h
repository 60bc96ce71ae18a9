// The cuda_sync rows of a trace by the correlation of the call they tell of: which record a wait meant. Read by
// graph/stream_waits.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>

#include "lumos/graph/host/stream_ids.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// What the wait of one call meant. Streams index GpuProgram::stream_lane; kNoIndex: none of the trace.
struct RecordedWait {
  uint32_t waiting_stream = kNoIndex;
  uint32_t source_stream = kNoIndex;
  int64_t record_correlation = -1;
};

class SyncRows {
 public:
  /// No rows where `use` is false, as in a trace that has none.
  SyncRows(const EventTable& table, const StreamIds& streams, bool use);

  /// What the wait of this correlation meant; nullptr where nothing tells.
  const RecordedWait* of_wait(int64_t correlation) const;
  /// The stream on which the record of this correlation was made; nullptr where nothing tells, kNoIndex where the trace
  /// has no such stream.
  const uint32_t* stream_of_record(int64_t correlation) const;

 private:
  tsl::robin_map<int64_t, RecordedWait> by_call_;
  tsl::robin_map<int64_t, uint32_t> stream_of_record_;
};

}  // namespace lumos

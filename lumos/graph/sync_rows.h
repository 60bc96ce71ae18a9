// The cuda_sync rows of a trace by the correlation of the call they tell of: which record a wait meant. Read by
// graph/stream_waits.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>

#include "lumos/trace/event_table.h"

namespace lumos {

class SyncRows {
 public:
  /// No rows where `use` is false, as in a trace that has none.
  SyncRows(const EventTable& table, bool use);

  /// What the wait of this correlation meant; nullptr where nothing tells. Lives as long as the table.
  const SyncDetail* of_wait(int64_t correlation) const;
  /// The stream, as the trace numbers it, that the record of this correlation was made on; -1 where nothing tells.
  int64_t stream_of_record(int64_t correlation) const;

 private:
  tsl::robin_map<int64_t, const SyncDetail*> by_call_;
  tsl::robin_map<int64_t, int64_t> stream_of_record_;
};

}  // namespace lumos

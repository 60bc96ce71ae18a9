#include "lumos/graph/sync_rows.h"

namespace lumos {

SyncRows::SyncRows(const EventTable& table, bool use) {
  if (!use) return;
  for (uint32_t row = 0; row < table.size(); ++row) {
    const SyncDetail* sync = table.sync_detail(row);
    if (!sync || table.correlation[row] < 0 || sync->stream < 0 || sync->wait_on_stream < 0) continue;
    by_call_[table.correlation[row]] = sync;
    if (sync->wait_on_record_correlation >= 0) {
      stream_of_record_[sync->wait_on_record_correlation] = sync->wait_on_stream;
    }
  }
}

const SyncDetail* SyncRows::of_wait(int64_t correlation) const {
  auto it = by_call_.find(correlation);
  return it == by_call_.end() ? nullptr : it->second;
}

int64_t SyncRows::stream_of_record(int64_t correlation) const {
  auto it = stream_of_record_.find(correlation);
  return it == stream_of_record_.end() ? -1 : it->second;
}

}  // namespace lumos

#include "lumos/graph/waits/sync_rows.h"

namespace lumos {

SyncRows::SyncRows(const EventTable& table, const StreamIds& streams, bool use) {
  if (!use) return;
  for (uint32_t row = 0; row < table.size(); ++row) {
    const SyncDetail* sync = table.sync_detail(row);
    if (!sync || table.correlation[row] < 0 || sync->stream < 0 || sync->wait_on_stream < 0) continue;
    const NameId device = table.lanes[table.lane[row]].pid_text;
    const uint32_t source = streams.find(device, sync->wait_on_stream);
    by_call_[table.correlation[row]] = {streams.find(device, sync->stream), source, sync->wait_on_record_correlation};
    if (sync->wait_on_record_correlation >= 0) stream_of_record_[sync->wait_on_record_correlation] = source;
  }
}

const RecordedWait* SyncRows::of_wait(int64_t correlation) const {
  auto it = by_call_.find(correlation);
  return it == by_call_.end() ? nullptr : &it->second;
}

const uint32_t* SyncRows::stream_of_record(int64_t correlation) const {
  auto it = stream_of_record_.find(correlation);
  return it == stream_of_record_.end() ? nullptr : &it->second;
}

}  // namespace lumos

#include <tsl/robin_map.h>

#include <algorithm>

#include "lumos/graph/host/host_waits.h"
#include "lumos/graph/host/stream_ids.h"

namespace lumos {

namespace {

// Finds the last work of a stream that had been launched before a moment.
class LaunchOrder {
 public:
  LaunchOrder(const EventTable& table, const HostProgram& host, const GpuProgram& gpu)
      : gpu_(gpu), launched_ns_(launch_order_ns(table, host, gpu)) {}

  uint32_t last_before(uint32_t stream, int64_t time) const {
    const auto begin = launched_ns_.begin() + gpu_.stream_begin[stream];
    const auto end = launched_ns_.begin() + gpu_.stream_begin[stream + 1];
    const auto it = std::lower_bound(begin, end, time);
    return it == begin ? kNoIndex : static_cast<uint32_t>(it - launched_ns_.begin() - 1);
  }

 private:
  const GpuProgram& gpu_;
  std::vector<int64_t> launched_ns_;
};

class SyncFinder {
 public:
  SyncFinder(const EventTable& table, const HostProgram& host, const GpuProgram& gpu, int64_t tolerance_ns,
             bool use_sync_rows)
      : table_(table),
        host_(host),
        gpu_(gpu),
        tolerance_ns_(tolerance_ns),
        order_(table, host, gpu),
        streams_(table, gpu) {
    for (uint32_t s = 0; s < gpu.streams(); ++s) {
      const NameId device = streams_.device_of(s);
      if (std::find(devices_.begin(), devices_.end(), device) == devices_.end()) devices_.push_back(device);
    }
    for (uint32_t row = 0; use_sync_rows && row < table.size(); ++row) {
      if (table.sync_detail(row) && table.correlation[row] >= 0) sync_row_[table.correlation[row]] = row;
    }
    for (uint32_t c = 0; c < host.calls.size(); ++c) {
      if (host.calls[c].kind == CallKind::kRecord) record_[table.correlation[host.calls[c].row]] = c;
    }
    last_launch_.assign(host.threads.size(), kNoIndex);
  }

  std::vector<SyncCall> run() {
    std::vector<SyncCall> out;
    for (uint32_t c = 0; c < host_.calls.size(); ++c) {
      SyncCall sync;
      sync.call = c;
      if (decide(c, sync)) {
        for (uint32_t w : sync.targets) sync.waited |= gpu_.work[w].end_ns > start(c);
        out.push_back(std::move(sync));
      }
      if (gpu_.by_call_begin[c] != gpu_.by_call_begin[c + 1]) {
        last_launch_[host_.calls[c].thread] = gpu_.work[gpu_.by_call[gpu_.by_call_begin[c]]].stream;
      }
    }
    return out;
  }

 private:
  int64_t start(uint32_t c) const { return table_.ts_ns[host_.calls[c].row]; }
  int64_t end(uint32_t c) const { return table_.end_ns(host_.calls[c].row); }
  bool done_by(uint32_t work, uint32_t c) const { return gpu_.work[work].end_ns <= end(c) + tolerance_ns_; }

  bool decide(uint32_t c, SyncCall& sync) {
    switch (host_.calls[c].kind) {
      case CallKind::kDeviceSync:
        device_sync(c, sync);
        return true;
      case CallKind::kStreamSync:
        stream_sync(c, sync);
        return true;
      case CallKind::kEventSync:
        event_sync(c, sync);
        return true;
      case CallKind::kMayBlock:
        return may_block(c, sync);
      case CallKind::kBlockingCopy:
      case CallKind::kLaunch:
        return blocking_copy(c, sync);
      default:
        return false;
    }
  }

  void device_sync(uint32_t c, SyncCall& sync) const {
    sync.recorded = true;
    const NameId device = device_meant(c);
    for (uint32_t s = 0; s < gpu_.streams(); ++s) {
      if (!is_of(s, device)) continue;
      const uint32_t w = order_.last_before(s, start(c));
      // A work that ran on beyond the call was launched by a thread whose order we read wrongly: no target.
      if (w != kNoIndex && done_by(w, c)) sync.targets.push_back(w);
    }
  }

  /// The device that a synchronise of the current device means; kNoName: all, where there is one or nothing tells.
  NameId device_meant(uint32_t c) const {
    if (devices_.size() < 2) return kNoName;
    const auto row = sync_row_.find(table_.correlation[host_.calls[c].row]);
    if (row != sync_row_.end()) return table_.lanes[table_.lane[row->second]].pid_text;
    const uint32_t launched = last_launch_[host_.calls[c].thread];
    const NameId current = launched == kNoIndex ? kNoName : streams_.device_of(launched);
    if (current != kNoName && has_waited_for(current, c)) return current;
    // The one whose work ended while the call waited, as near its return as any.
    NameId best = current;
    int64_t best_end = start(c);
    for (NameId device : devices_) {
      const int64_t last = last_end(device, c);
      if (last <= best_end || last > end(c) + tolerance_ns_) continue;
      best_end = last;
      best = device;
    }
    return best;
  }

  bool is_of(uint32_t stream, NameId device) const { return device == kNoName || streams_.device_of(stream) == device; }

  /// When the last work ended that had been launched on a device before the call; INT64_MIN: none.
  int64_t last_end(NameId device, uint32_t c) const {
    int64_t last = INT64_MIN;
    for (uint32_t s = 0; s < gpu_.streams(); ++s) {
      const uint32_t w = is_of(s, device) ? order_.last_before(s, start(c)) : kNoIndex;
      if (w != kNoIndex) last = std::max(last, gpu_.work[w].end_ns);
    }
    return last;
  }

  bool has_waited_for(NameId device, uint32_t c) const {
    const int64_t last = last_end(device, c);
    return last > start(c) && last <= end(c) + tolerance_ns_;
  }

  void stream_sync(uint32_t c, SyncCall& sync) const {
    const auto row = sync_row_.find(table_.correlation[host_.calls[c].row]);
    if (row != sync_row_.end()) {
      const uint32_t stream = stream_named(row->second, table_.sync_detail(row->second)->stream);
      sync.recorded = true;
      if (stream != kNoIndex) add_last(stream, c, sync);
      return;
    }
    // The stream whose work ended while the call waited, as near its return as any; else the one last launched on.
    uint32_t best = kNoIndex;
    for (uint32_t s = 0; s < gpu_.streams(); ++s) {
      const uint32_t w = order_.last_before(s, start(c));
      if (w == kNoIndex || !done_by(w, c) || gpu_.work[w].end_ns <= start(c)) continue;
      if (best == kNoIndex || gpu_.work[w].end_ns > gpu_.work[best].end_ns) best = w;
    }
    const uint32_t usual = last_launch_[host_.calls[c].thread];
    if (usual != kNoIndex) {
      const uint32_t w = order_.last_before(usual, start(c));
      const bool other_is_clearer =
          best != kNoIndex && w != kNoIndex && best != w && (gpu_.work[w].end_ns <= start(c) || !done_by(w, c));
      if (w != kNoIndex && done_by(w, c) && !other_is_clearer) best = w;
    }
    if (best != kNoIndex) sync.targets.push_back(best);
  }

  void event_sync(uint32_t c, SyncCall& sync) const {
    const auto row = sync_row_.find(table_.correlation[host_.calls[c].row]);
    if (row != sync_row_.end()) {
      const SyncDetail* detail = table_.sync_detail(row->second);
      const uint32_t stream = stream_named(row->second, detail->wait_on_stream);
      const auto record = record_.find(detail->wait_on_record_correlation);
      if (stream != kNoIndex && record != record_.end()) {
        const uint32_t w = order_.last_before(stream, start(record->second));
        sync.recorded = true;
        if (w != kNoIndex && done_by(w, c)) sync.targets.push_back(w);
        return;
      }
    }
    // Whatever ended last while the call waited is what it waited for.
    uint32_t best = kNoIndex;
    for (uint32_t s = 0; s < gpu_.streams(); ++s) {
      const uint32_t begin = gpu_.stream_begin[s], stop = gpu_.stream_begin[s + 1];
      const auto later = std::partition_point(gpu_.work.begin() + begin, gpu_.work.begin() + stop,
                                              [&](const GpuWork& w) { return w.end_ns <= end(c) + tolerance_ns_; });
      if (later == gpu_.work.begin() + begin) continue;
      const uint32_t w = static_cast<uint32_t>(later - gpu_.work.begin() - 1);
      const uint32_t launched = order_.last_before(s, start(c));
      if (gpu_.work[w].end_ns <= start(c) || launched == kNoIndex || launched < w) continue;
      if (best == kNoIndex || gpu_.work[w].end_ns > gpu_.work[best].end_ns) best = w;
    }
    if (best != kNoIndex) sync.targets.push_back(best);
  }

  // cudaFree and its like wait for the device when they ended after everything that was running, having waited for most
  // of their time.
  bool may_block(uint32_t c, SyncCall& sync) const {
    int64_t last = INT64_MIN;
    const NameId device = device_meant(c);
    for (uint32_t s = 0; s < gpu_.streams(); ++s) {
      const uint32_t w = is_of(s, device) ? order_.last_before(s, start(c)) : kNoIndex;
      if (w == kNoIndex) continue;
      if (!done_by(w, c)) return false;
      last = std::max(last, gpu_.work[w].end_ns);
      sync.targets.push_back(w);
    }
    return last != INT64_MIN && 2 * (last - start(c)) > end(c) - start(c);
  }

  // A copy blocks when its call returned no earlier than the copy ended: pageable memory, and cudaMemcpy itself.
  bool blocking_copy(uint32_t c, SyncCall& sync) const {
    if (gpu_.by_call_begin[c + 1] - gpu_.by_call_begin[c] != 1) return false;
    const uint32_t w = gpu_.by_call[gpu_.by_call_begin[c]];
    const bool copy = table_.kind[gpu_.work[w].row] == EventKind::kMemcpy;
    if (!copy || end(c) + tolerance_ns_ < gpu_.work[w].end_ns) return false;
    sync.targets.push_back(w);
    sync.recorded = true;
    return true;
  }

  /// The stream that a cuda_sync row calls `id`: of the row's own device, if that has one.
  uint32_t stream_named(uint32_t row, int64_t id) const {
    return streams_.find(table_.lanes[table_.lane[row]].pid_text, id);
  }

  void add_last(uint32_t stream, uint32_t c, SyncCall& sync) const {
    const uint32_t w = order_.last_before(stream, start(c));
    if (w != kNoIndex && done_by(w, c)) sync.targets.push_back(w);
  }

  const EventTable& table_;
  const HostProgram& host_;
  const GpuProgram& gpu_;
  int64_t tolerance_ns_;
  LaunchOrder order_;
  StreamIds streams_;
  std::vector<NameId> devices_;
  tsl::robin_map<int64_t, uint32_t> sync_row_;
  tsl::robin_map<int64_t, uint32_t> record_;
  std::vector<uint32_t> last_launch_;
};

}  // namespace

std::vector<SyncCall> find_sync_calls(const EventTable& table, const HostProgram& host, const GpuProgram& gpu,
                                      int64_t tolerance_ns, bool use_sync_rows) {
  return SyncFinder(table, host, gpu, tolerance_ns, use_sync_rows).run();
}

}  // namespace lumos

#include "lumos/report/results/inventory.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "lumos/base/result.h"
#include "lumos/graph/host/runtime_calls.h"
#include "lumos/trace/table/collective_names.h"
#include "lumos/trace/table/launch_flows.h"

namespace lumos {

namespace {

std::vector<StepMark> step_marks(const EventTable& table, int64_t first_ns) {
  std::vector<StepMark> steps;
  for (size_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] != EventKind::kAnnotation || !table.name_of(row).starts_with("ProfilerStep#")) continue;
    steps.push_back({std::string(table.name_of(row)), table.ts_ns[row] - first_ns, table.dur_ns[row]});
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepMark& a, const StepMark& b) { return a.start_ns < b.start_ns; });
  return steps;
}

/// Per lane, the time that at least one row covers.
std::vector<int64_t> busy_by_lane(const EventTable& table, const std::vector<uint8_t>& counts) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (counts[row]) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return table.ts_ns[a] < table.ts_ns[b]; });
  std::vector<int64_t> busy(table.lanes.size(), 0);
  std::vector<int64_t> covered_to(table.lanes.size(), std::numeric_limits<int64_t>::min());
  for (uint32_t row : rows) {
    int64_t& end = covered_to[table.lane[row]];
    const int64_t from = std::max(end, table.ts_ns[row]);
    busy[table.lane[row]] += std::max<int64_t>(0, table.end_ns(row) - from);
    end = std::max(end, table.end_ns(row));
  }
  return busy;
}

std::string thread_label(const EventTable& table, const Lane& lane) {
  std::string label = fmt::format("thread {}", table.text(lane.tid_text));
  if (lane.label != kNoName) label += fmt::format(" ({})", table.text(lane.label));
  return label;
}

std::string stream_label(const EventTable& table, const Lane& lane, bool several_devices) {
  const std::string label = fmt::format("stream {}", table.text(lane.tid_text));
  return several_devices ? fmt::format("device {} {}", table.text(lane.pid_text), label) : label;
}

/// One pass over the rows that counts what the lanes and the metadata hold.
class Count {
 public:
  Count(const EventTable& table, RankInventory& out)
      : table_(table),
        out_(out),
        is_collective_(communication_rows(table)),
        threads_(table.lanes.size()),
        streams_(table.lanes.size()),
        call_kinds_(table.names ? table.names->size() : 0, kUnseen) {
    launches_ = launch_flows(table);
    occupies_lane_.assign(table.size(), 0);
    for (uint32_t row = 0; row < table.size(); ++row) count(row);
    finish();
  }

 private:
  static constexpr uint8_t kUnseen = 255;

  void count(uint32_t row) {
    const EventKind kind = table_.kind[row];
    if (is_gpu_work(kind)) return count_gpu(row);
    if (kind == EventKind::kSync) return count_sync_row(row);
    if (kind == EventKind::kGpuAnnotation) return;
    occupies_lane_[row] = 1;
    ThreadUse& thread = threads_[table_.lane[row]];
    ++thread.events;
    if (kind == EventKind::kRuntime) return count_call(row, thread);
    if (kind != EventKind::kCpuOp) return;
    ++out_.coverage.operators;
    const OpDetail* detail = table_.op_detail(row);
    if (detail != nullptr && detail->input_dims != kNoName) ++out_.coverage.operators_with_shapes;
  }

  void count_gpu(uint32_t row) {
    occupies_lane_[row] = 1;
    StreamUse& stream = streams_[table_.lane[row]];
    ++(table_.kind[row] == EventKind::kKernel ? stream.kernels : stream.copies);
    ++out_.coverage.gpu_rows;
    while (next_launch_ < launches_.size() && launches_[next_launch_].work < row) ++next_launch_;
    if (next_launch_ < launches_.size() && launches_[next_launch_].work == row) {
      ++out_.coverage.gpu_rows_with_launch;
      ++threads_[table_.lane[launches_[next_launch_].call]].launches;
    }
    if (!is_collective_[row]) return;
    ++stream.collectives;
    ++out_.coverage.collective_kernels;
    if (table_.collective_detail(row) != nullptr) ++out_.coverage.collective_kernels_with_metadata;
  }

  void count_sync_row(uint32_t row) {
    ++out_.coverage.sync_rows;
    const SyncDetail* detail = table_.sync_detail(row);
    if (detail != nullptr && detail->stream >= 0 && detail->wait_on_record_correlation >= 0) {
      ++out_.coverage.resolved_waits;
    }
  }

  void count_call(uint32_t row, ThreadUse& thread) {
    uint8_t& known = call_kinds_[static_cast<uint32_t>(table_.name[row])];
    if (known == kUnseen) known = static_cast<uint8_t>(call_kind(table_.name_of(row)));
    ++thread.calls;
    const CallKind kind = static_cast<CallKind>(known);
    if (kind == CallKind::kPoll) ++polls_by_lane_[table_.lane[row]];
    if (kind == CallKind::kRecord) ++out_.coverage.records;
    if (kind == CallKind::kWait) ++out_.coverage.waits;
    if (kind == CallKind::kGraphLaunch) ++out_.coverage.graph_launches;
    if (kind == CallKind::kStreamSync || kind == CallKind::kEventSync || kind == CallKind::kDeviceSync) {
      ++out_.coverage.synchronises;
    }
  }

  void finish() {
    const std::vector<int64_t> busy_ns = busy_by_lane(table_, occupies_lane_);
    std::set<NameId> devices;
    for (size_t lane = 0; lane < table_.lanes.size(); ++lane) {
      if (streams_[lane].kernels + streams_[lane].copies > 0) devices.insert(table_.lanes[lane].pid_text);
    }
    for (uint32_t lane = 0; lane < table_.lanes.size(); ++lane) {
      ThreadUse& thread = threads_[lane];
      StreamUse& stream = streams_[lane];
      if (thread.events > 0) {
        thread.label = thread_label(table_, table_.lanes[lane]);
        thread.busy_ns = busy_ns[lane];
        const auto polls = polls_by_lane_.find(lane);
        thread.polls_only = polls != polls_by_lane_.end() && polls->second == thread.events;
        out_.threads.push_back(std::move(thread));
      }
      if (stream.kernels + stream.copies > 0) {
        stream.label = stream_label(table_, table_.lanes[lane], devices.size() > 1);
        stream.busy_ns = busy_ns[lane];
        out_.streams.push_back(std::move(stream));
      }
    }
    std::stable_sort(out_.threads.begin(), out_.threads.end(),
                     [](const ThreadUse& a, const ThreadUse& b) { return a.events > b.events; });
    std::stable_sort(out_.streams.begin(), out_.streams.end(),
                     [](const StreamUse& a, const StreamUse& b) { return a.busy_ns > b.busy_ns; });
  }

  const EventTable& table_;
  RankInventory& out_;
  std::vector<uint8_t> is_collective_;
  std::vector<ThreadUse> threads_;  // by lane
  std::vector<StreamUse> streams_;
  std::vector<uint8_t> call_kinds_;  // CallKind by name
  std::vector<uint8_t> occupies_lane_;
  std::vector<LaunchFlow> launches_;  // by GPU row
  size_t next_launch_ = 0;
  std::unordered_map<uint32_t, uint64_t> polls_by_lane_;
};

}  // namespace

RankInventory take_inventory(const EventTable& table) {
  RankInventory out;
  out.info = &table.info;
  out.events_kept = table.size();
  int64_t first_ns = 0, last_ns = 0;
  for (size_t row = 0; row < table.size(); ++row) {
    first_ns = row == 0 ? table.ts_ns[row] : std::min(first_ns, table.ts_ns[row]);
    last_ns = row == 0 ? table.end_ns(row) : std::max(last_ns, table.end_ns(row));
  }
  out.span_ns = last_ns - first_ns;
  out.steps = step_marks(table, first_ns);
  Count(table, out);
  out.collectives = collective_uses(table);
  out.odd = odd_times(table);
  for (const FlowEnd& end : table.fwdbwd) out.coverage.forward_backward_flows += end.is_start ? 1 : 0;
  return out;
}

}  // namespace lumos

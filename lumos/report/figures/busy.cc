#include "lumos/report/figures/busy.h"

#include <algorithm>
#include <tuple>

#include "lumos/trace/table/collective_names.h"
#include "lumos/trace/table/nesting.h"
#include "lumos/trace/table/occupancy.h"

namespace lumos {

namespace {

bool has_gpu_work(const EventTable& table) {
  return std::any_of(table.kind.begin(), table.kind.end(), [](EventKind kind) { return is_gpu_work(kind); });
}

std::vector<BusyInterval> gpu_intervals(const EventTable& table) {
  const std::vector<uint8_t> communication = communication_rows(table);
  std::vector<BusyInterval> result;
  for (size_t row = 0; row < table.size(); ++row) {
    if (!is_gpu_work(table.kind[row]) || table.dur_ns[row] <= 0) continue;
    result.push_back({table.ts_ns[row], table.end_ns(row), communication[row] != 0, sm_share(table, row)});
  }
  return result;
}

/// Threads' time cut where rows begin and end, so that an operator does not count the gloo operation inside it.
class ThreadSweep {
 public:
  explicit ThreadSweep(const EventTable& table) : table_(table), communication_(communication_rows(table)) {}

  std::vector<BusyInterval> run() {
    uint32_t lane = kNoIndex;
    for (uint32_t row : nesting(table_).order) {
      if (table_.lanes[table_.lane[row]].is_gpu || !counts(row) || table_.dur_ns[row] <= 0) continue;
      if (table_.lane[row] != lane) {
        close_until(INT64_MAX);
        lane = table_.lane[row];
        reached_ns_ = table_.ts_ns[row];
      }
      close_until(table_.ts_ns[row]);
      emit_until(table_.ts_ns[row]);
      const bool inside = !open_.empty() && open_.back().communication;
      // A child that ends after its parent by rounding would keep the parent's time open: it ends with it.
      const int64_t end_ns = open_.empty() ? table_.end_ns(row) : std::min(table_.end_ns(row), open_.back().end_ns);
      open_.push_back({end_ns, inside || communication_[row] != 0});
    }
    close_until(INT64_MAX);
    return std::move(result_);
  }

 private:
  struct Open {
    int64_t end_ns;
    bool communication;
  };

  bool counts(uint32_t row) const { return table_.kind[row] == EventKind::kCpuOp || communication_[row] != 0; }

  void emit_until(int64_t ns) {
    if (!open_.empty() && ns > reached_ns_) result_.push_back({reached_ns_, ns, open_.back().communication, 0});
    reached_ns_ = std::max(reached_ns_, ns);
  }

  void close_until(int64_t ns) {
    while (!open_.empty() && open_.back().end_ns <= ns) {
      emit_until(open_.back().end_ns);
      open_.pop_back();
    }
  }

  const EventTable& table_;
  std::vector<uint8_t> communication_;
  std::vector<Open> open_;
  int64_t reached_ns_ = 0;
  std::vector<BusyInterval> result_;
};

const DeviceProperties* device_of(const EventTable& table, size_t row) {
  if (table.info.devices.empty()) return nullptr;
  const int64_t device = table.lanes[table.lane[row]].pid;
  const bool known = device >= 0 && device < static_cast<int64_t>(table.info.devices.size());
  return &table.info.devices[known ? device : 0];
}

}  // namespace

float sm_share(const EventTable& table, size_t row) {
  if (table.kind[row] != EventKind::kKernel) return 0;
  const GpuDetail* kernel = table.gpu_detail(row);
  const DeviceProperties* device = device_of(table, row);
  if (kernel == nullptr || device == nullptr || device->num_sms <= 0) return 1;
  const int64_t blocks = blocks_of(*kernel);
  if (blocks <= 0) return 1;
  const int64_t at_once = blocks_per_sm(*kernel, *device) * device->num_sms;
  return std::min(1.0f, static_cast<float>(blocks) / static_cast<float>(at_once));
}

std::vector<BusyInterval> busy_intervals(const EventTable& table) {
  std::vector<BusyInterval> result = has_gpu_work(table) ? gpu_intervals(table) : ThreadSweep(table).run();
  std::sort(result.begin(), result.end(), [](const BusyInterval& a, const BusyInterval& b) {
    return std::tuple(a.start_ns, a.end_ns, a.communication, a.sm_share) <
           std::tuple(b.start_ns, b.end_ns, b.communication, b.sm_share);
  });
  return result;
}

}  // namespace lumos

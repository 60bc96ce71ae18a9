#include "lumos/whatif/times/kernel_floor.h"

#include <algorithm>
#include <vector>

#include "lumos/trace/table/kernel_name.h"
#include "lumos/trace/table/occupancy.h"

namespace lumos {

namespace {

constexpr size_t kLeastSmallKernels = 8;  // fewer say little about the usual one
constexpr size_t kLeastOfName = 3;
constexpr size_t kShortestPart = 50;  // the fiftieth is short, and not yet the luckiest

/// The value at position `at` of the sorted values.
int64_t sorted_at(std::vector<int64_t>& values, size_t at) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

}  // namespace

double kernel_waves(const EventTable& table, uint32_t row, bool one_per_multiprocessor) {
  const GpuDetail* detail = table.gpu_detail(row);
  if (detail == nullptr || detail->grid[0] <= 0 || table.info.devices.empty()) return 0;
  const DeviceProperties& device = table.info.devices.front();
  if (device.num_sms <= 0) return 0;
  const int64_t blocks = int64_t{detail->grid[0]} * std::max(detail->grid[1], 1) * std::max(detail->grid[2], 1);
  const int64_t fit = blocks_per_sm(*detail, device);
  if (blocks % device.num_sms == 0 && blocks / device.num_sms <= fit) return 0;
  return static_cast<double>(blocks) / static_cast<double>(device.num_sms * (one_per_multiprocessor ? 1 : fit));
}

KernelFloors::KernelFloors(const ExecGraph& graph, const RankTasks& rank) {
  std::vector<int64_t> all, small;
  std::map<std::string, std::vector<int64_t>> small_of_name;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    const uint32_t row = graph.event[task];
    if (graph.kind[task] != TaskKind::kKernel || row == kNoIndex) continue;
    all.push_back(graph.duration_ns[task]);
    const double waves = kernel_waves(*rank.table, row, false);
    if (waves <= 0 || waves >= kSmallWaves) continue;
    small.push_back(graph.duration_ns[task]);
    small_of_name[std::string(short_kernel_name(rank.table->name_of(row)))].push_back(graph.duration_ns[task]);
  }
  if (small.size() >= kLeastSmallKernels) {
    usual_ns_ = sorted_at(small, small.size() / 2);
  } else if (!all.empty()) {
    usual_ns_ = sorted_at(all, all.size() / kShortestPart);
  }
  for (auto& [name, times] : small_of_name) {
    if (times.size() >= kLeastOfName) of_name_[name] = sorted_at(times, times.size() / 2);
  }
}

int64_t KernelFloors::of_row(const EventTable& table, uint32_t row) const {
  const auto found = of_name_.find(std::string(short_kernel_name(table.name_of(row))));
  return found == of_name_.end() ? usual_ns_ : found->second;
}

}  // namespace lumos

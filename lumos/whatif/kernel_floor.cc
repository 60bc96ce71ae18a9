#include "lumos/whatif/kernel_floor.h"

#include <algorithm>
#include <vector>

#include "lumos/trace/occupancy.h"

namespace lumos {

namespace {

constexpr double kSmallWaves = 0.1;       // of the GPU: more blocks would run beside these
constexpr size_t kLeastSmallKernels = 8;  // fewer say little about the usual one
constexpr size_t kShortestPart = 50;      // the fiftieth is short, and not yet the luckiest

/// The value at position `at` of the sorted values.
int64_t sorted_at(std::vector<int64_t>& values, size_t at) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

}  // namespace

double kernel_waves(const EventTable& table, uint32_t row) {
  const GpuDetail* detail = table.gpu_detail(row);
  if (detail == nullptr || detail->grid[0] <= 0 || table.info.devices.empty()) return 0;
  const DeviceProperties& device = table.info.devices.front();
  if (device.num_sms <= 0) return 0;
  const int64_t blocks = int64_t{detail->grid[0]} * std::max(detail->grid[1], 1) * std::max(detail->grid[2], 1);
  const int64_t fit = blocks_per_sm(*detail, device);
  const bool crew = blocks % device.num_sms == 0 && blocks / device.num_sms <= fit;
  return crew ? 0 : static_cast<double>(blocks) / static_cast<double>(device.num_sms * fit);
}

int64_t kernel_floor_ns(const ExecGraph& graph, const RankTasks& rank) {
  std::vector<int64_t> all, small;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    if (graph.kind[task] != TaskKind::kKernel || graph.event[task] == kNoIndex) continue;
    const double waves = kernel_waves(*rank.table, graph.event[task]);
    all.push_back(graph.duration_ns[task]);
    if (waves > 0 && waves < kSmallWaves) small.push_back(graph.duration_ns[task]);
  }
  if (small.size() >= kLeastSmallKernels) return sorted_at(small, small.size() / 2);
  return all.empty() ? 0 : sorted_at(all, all.size() / kShortestPart);
}

}  // namespace lumos

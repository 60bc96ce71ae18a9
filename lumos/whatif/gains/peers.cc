#include "lumos/whatif/gains/peers.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "lumos/base/parallel.h"

namespace lumos {

namespace {

/// Kernels that do the same: name and grid.
using KernelKey = std::tuple<std::string_view, int32_t, int32_t, int32_t>;
struct KernelTime {
  int64_t total_ns = 0;
  uint64_t count = 0;
};

std::map<KernelKey, KernelTime> kernel_times(const ExecGraph& graph, const RankTasks& rank) {
  std::map<KernelKey, KernelTime> times;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    const uint32_t row = graph.event[task];
    if (graph.kind[task] != TaskKind::kKernel || row == kNoIndex) continue;
    const GpuDetail* detail = rank.table->gpu_detail(row);
    const int32_t none[3] = {0, 0, 0};
    const int32_t(&grid)[3] = detail != nullptr ? detail->grid : none;
    KernelTime& time = times[{rank.table->name_of(row), grid[0], grid[1], grid[2]}];
    time.total_ns += graph.duration_ns[task];
    ++time.count;
  }
  return times;
}

}  // namespace

std::vector<double> kernel_slowdowns(const ExecGraph& graph, int threads) {
  std::vector<std::map<KernelKey, KernelTime>> times(graph.ranks.size());
  parallel_for(graph.ranks.size(), threads, [&](size_t r) { times[r] = kernel_times(graph, graph.ranks[r]); });
  std::map<KernelKey, std::vector<double>> means;
  for (const auto& rank : times) {
    for (const auto& [key, time] : rank) {
      means[key].push_back(static_cast<double>(time.total_ns) / static_cast<double>(time.count));
    }
  }
  for (auto& [key, values] : means) std::sort(values.begin(), values.end());
  std::vector<double> out;
  for (const auto& rank : times) {
    double own = 0, median = 0;
    for (const auto& [key, time] : rank) {
      const std::vector<double>& values = means[key];
      if (values.size() < 2) continue;  // nobody to compare with
      own += static_cast<double>(time.total_ns);
      const double middle = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
      median += static_cast<double>(time.count) * middle;
    }
    out.push_back(median > 0 ? own / median : 1);
  }
  return out;
}

}  // namespace lumos

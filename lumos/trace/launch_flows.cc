#include "lumos/trace/launch_flows.h"

#include <algorithm>
#include <utility>

namespace lumos {

std::vector<LaunchFlow> launch_flows(const EventTable& table) {
  std::vector<std::pair<int64_t, uint32_t>> calls;
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] == EventKind::kRuntime && table.correlation[row] > 0) {
      calls.emplace_back(table.correlation[row], row);
    }
  }
  std::sort(calls.begin(), calls.end());
  std::vector<LaunchFlow> flows;
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (!is_gpu_work(table.kind[row]) || table.correlation[row] <= 0) continue;
    auto call = std::lower_bound(calls.begin(), calls.end(), std::pair(table.correlation[row], uint32_t{0}));
    if (call != calls.end() && call->first == table.correlation[row]) flows.push_back({call->second, row});
  }
  return flows;
}

}  // namespace lumos

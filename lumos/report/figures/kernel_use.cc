#include "lumos/report/figures/kernel_use.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lumos/trace/table/kernel_family.h"
#include "lumos/trace/table/kernel_name.h"

namespace lumos {

namespace {

/// Uses of one name as written in the trace.
struct Sum {
  uint32_t row = 0;  ///< one of them
  uint64_t count = 0;
  int64_t total_ns = 0;
};

}  // namespace

std::vector<KernelUse> kernel_uses(const EventTable& table, const std::vector<Window>& windows) {
  std::map<std::pair<NameId, EventKind>, Sum> by_id;  // Texts are made once per name.
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (!is_gpu_work(table.kind[row])) continue;
    const auto inside = [&](const Window& window) {
      return table.ts_ns[row] >= window.start_ns && table.ts_ns[row] < window.end_ns;
    };
    if (std::none_of(windows.begin(), windows.end(), inside)) continue;
    Sum& sum = by_id[{table.name[row], table.kind[row]}];
    sum.row = row;
    ++sum.count;
    sum.total_ns += table.dur_ns[row];
  }
  std::map<std::pair<std::string, std::string>, KernelUse> by_name;
  for (const auto& [key, sum] : by_id) {
    std::string family(family_name(row_family(table, sum.row)));
    std::string name = short_kernel_name(table.name_of(sum.row));
    KernelUse& use = by_name[{family, name}];
    use.family = std::move(family);
    use.name = std::move(name);
    use.count += sum.count;
    use.total_ns += sum.total_ns;
  }
  std::vector<KernelUse> uses;
  for (auto& [key, use] : by_name) uses.push_back(std::move(use));
  std::stable_sort(uses.begin(), uses.end(),
                   [](const KernelUse& a, const KernelUse& b) { return a.total_ns > b.total_ns; });
  return uses;
}

}  // namespace lumos

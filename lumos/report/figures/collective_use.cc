#include "lumos/report/figures/collective_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "lumos/graph/host/collective.h"
#include "lumos/trace/table/collective_names.h"

namespace lumos {

namespace {

/// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)" -> "AllReduce"; other names without what is in brackets.
std::string kind_of_name(std::string_view name) {
  const std::string_view bare = name.substr(0, name.find_first_of("(<"));
  const size_t kernel = bare.find("Kernel_");
  if (kernel == std::string_view::npos) return std::string(bare);
  const std::string_view rest = bare.substr(kernel + 7);
  return std::string(rest.substr(0, rest.find('_')));
}

std::string group_label(const EventTable& table, const CollectiveDetail& detail) {
  const std::string_view name = table.text(detail.group_name);
  const std::string_view description = table.text(detail.group_desc);
  if (description.empty()) return std::string(name);
  return fmt::format("{} ({})", description, name);
}

}  // namespace

std::vector<CollectiveUse> collective_uses(const EventTable& table) {
  const std::vector<uint8_t> is_collective = communication_rows(table);
  // Keyed by ids first: most rows share a few of them, and texts are made once per key.
  using Key = std::pair<std::pair<NameId, NameId>, NameId>;
  std::map<Key, CollectiveUse> by_key;
  for (size_t row = 0; row < table.size(); ++row) {
    if (!is_collective[row]) continue;
    const CollectiveDetail* detail = table.collective_detail(row);
    const bool named = detail != nullptr && detail->collective != kNoName;
    const Key key = detail == nullptr
                        ? Key{{kNoName, kNoName}, table.name[row]}
                        : Key{{detail->group_name, detail->group_desc}, named ? detail->collective : table.name[row]};
    CollectiveUse& use = by_key[key];
    ++use.count;
    use.total_ns += table.dur_ns[row];
    if (use.kind.empty()) {
      use.kind = named ? std::string(table.text(detail->collective)) : kind_of_name(table.name_of(row));
      if (detail != nullptr) use.group = group_label(table, *detail);
    }
    if (detail == nullptr) continue;
    use.group_size = std::max(use.group_size, detail->group_size);
    const int64_t bytes = collective_bytes(table, *detail);
    if (bytes > 0) {
      use.bytes += bytes;
      ++use.with_bytes;
    }
  }
  // Kernels whose names differ in algorithm and type only are one kind.
  std::map<std::pair<std::string, std::string>, CollectiveUse> merged;
  for (auto& [key, use] : by_key) {
    CollectiveUse& sum = merged[{use.group, use.kind}];
    if (sum.kind.empty()) {
      sum = std::move(use);
      continue;
    }
    sum.group_size = std::max(sum.group_size, use.group_size);
    sum.count += use.count;
    sum.bytes += use.bytes;
    sum.with_bytes += use.with_bytes;
    sum.total_ns += use.total_ns;
  }
  std::vector<CollectiveUse> out;
  for (auto& [key, use] : merged) out.push_back(std::move(use));
  std::stable_sort(out.begin(), out.end(),
                   [](const CollectiveUse& a, const CollectiveUse& b) { return a.total_ns > b.total_ns; });
  return out;
}

}  // namespace lumos

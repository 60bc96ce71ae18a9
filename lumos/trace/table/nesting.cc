#include "lumos/trace/table/nesting.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace lumos {

namespace {

bool may_enclose(const EventTable& table, uint32_t row) {
  return !table.lanes[table.lane[row]].is_gpu || table.kind[row] == EventKind::kGpuAnnotation;
}

}  // namespace

Nesting nesting(const EventTable& table) {
  Nesting result;
  result.order.resize(table.size());
  std::iota(result.order.begin(), result.order.end(), 0u);
  std::sort(result.order.begin(), result.order.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(table.lane[a], table.ts_ns[a], -table.dur_ns[a], a) <
           std::tuple(table.lane[b], table.ts_ns[b], -table.dur_ns[b], b);
  });
  result.parent.assign(table.size(), kNoIndex);
  std::vector<uint32_t> open;  // The enclosing rows of the point reached, outermost first.
  uint32_t lane = kNoIndex;
  for (uint32_t row : result.order) {
    if (table.lane[row] != lane) {
      lane = table.lane[row];
      open.clear();
    }
    while (!open.empty() && table.end_ns(open.back()) <= table.ts_ns[row]) open.pop_back();
    if (!open.empty()) result.parent[row] = open.back();
    if (may_enclose(table, row)) open.push_back(row);
  }
  return result;
}

uint32_t innermost_row(const EventTable& table, const Nesting& nested, uint32_t lane, int64_t ts_ns) {
  const auto begins_later = [&](const std::pair<uint32_t, int64_t>& moment, uint32_t row) {
    return moment < std::pair(table.lane[row], table.ts_ns[row]);
  };
  auto after = std::upper_bound(nested.order.begin(), nested.order.end(), std::pair(lane, ts_ns), begins_later);
  if (after == nested.order.begin() || table.lane[*(after - 1)] != lane) return kNoIndex;
  uint32_t row = *(after - 1);
  while (row != kNoIndex && table.end_ns(row) < ts_ns) row = nested.parent[row];
  return row;
}

}  // namespace lumos

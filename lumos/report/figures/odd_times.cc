#include "lumos/report/figures/odd_times.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace lumos {

namespace {

constexpr int64_t kExactNs = 2'000;  // older profilers write whole microseconds, and round both ends

/// What has one correlation id.
struct Correlated {
  uint32_t calls = 0;
  uint32_t work = 0;
  int64_t call_ns = 0;  ///< of the first call
};

using ByCorrelation = std::unordered_map<int64_t, Correlated>;

ByCorrelation by_correlation(const EventTable& table) {
  ByCorrelation out;
  for (size_t row = 0; row < table.size(); ++row) {
    const bool call = table.kind[row] == EventKind::kRuntime, work = is_gpu_work(table.kind[row]);
    if (table.correlation[row] <= 0 || (!call && !work)) continue;
    Correlated& each = out[table.correlation[row]];
    if (call && each.calls++ == 0) each.call_ns = table.ts_ns[row];
    each.work += work ? 1 : 0;
  }
  return out;
}

void count_overlaps(const EventTable& table, const ByCorrelation& correlated, OddTimes& odd) {
  const auto of_graph = [&](uint32_t row) {
    const auto at = correlated.find(table.correlation[row]);
    return at != correlated.end() && at->second.work > 1;
  };
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < table.size(); ++row)
    if (is_gpu_work(table.kind[row]) && !of_graph(row)) rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(table.lane[a], table.ts_ns[a], a) < std::tie(table.lane[b], table.ts_ns[b], b);
  });
  int64_t end_ns = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool first = i == 0 || table.lane[rows[i]] != table.lane[rows[i - 1]];
    if (!first && table.end_ns(rows[i]) + kExactNs < end_ns) ++odd.overlapping_work;
    end_ns = first ? table.end_ns(rows[i]) : std::max(end_ns, table.end_ns(rows[i]));
  }
}

}  // namespace

OddTimes odd_times(const EventTable& table) {
  OddTimes odd;
  const ByCorrelation correlated = by_correlation(table);
  const bool gpu = std::any_of(table.kind.begin(), table.kind.end(), is_gpu_work);
  for (size_t row = 0; row < table.size(); ++row) {
    const EventKind kind = table.kind[row];
    if (gpu ? is_gpu_work(kind) : kind == EventKind::kCpuOp) {
      ++odd.work;
      odd.without_duration += table.dur_ns[row] <= 0 ? 1 : 0;
    }
    const auto at = correlated.find(table.correlation[row]);
    if (at == correlated.end()) continue;
    if (kind == EventKind::kRuntime) {
      ++odd.calls;
      odd.repeated_calls += at->second.calls > 1 ? 1 : 0;
    }
    if (is_gpu_work(kind) && at->second.calls == 1 && table.ts_ns[row] + kExactNs < at->second.call_ns)
      ++odd.before_launch;
  }
  count_overlaps(table, correlated, odd);
  return odd;
}

}  // namespace lumos

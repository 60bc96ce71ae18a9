#include "lumos/whatif/times/profiler_cost.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lumos/base/parallel.h"
#include "lumos/trace/table/nesting.h"

namespace lumos {

namespace {

// Fewer gaps or names than this say nothing.
constexpr size_t kLeastGaps = 100;
constexpr size_t kLeastRepeats = 40;
constexpr size_t kLeastNames = 10;
constexpr double kShortestGaps = 0.1;  // this share of the gaps holds nothing but bookkeeping

int64_t at_share(std::vector<int64_t>& values, double share) {
  const auto at = values.begin() + static_cast<ptrdiff_t>(share * double(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

int64_t call_cost(const EventTable& table, const Nesting& nested) {
  std::vector<int64_t> gaps;
  uint32_t previous = kNoIndex;
  for (uint32_t row : nested.order) {
    if (table.kind[row] != EventKind::kRuntime) {
      // Another event between two calls has bookkeeping of its own.
      previous = kNoIndex;
      continue;
    }
    const bool siblings = previous != kNoIndex && nested.parent[previous] == nested.parent[row] &&
                          table.lane[previous] == table.lane[row] && nested.parent[row] != kNoIndex;
    if (siblings) gaps.push_back(std::max<int64_t>(0, table.ts_ns[row] - table.end_ns(previous)));
    previous = row;
  }
  return gaps.size() < kLeastGaps ? 0 : at_share(gaps, kShortestGaps);
}

/// Time from an operator's start to the first event inside it, or to its end: by name of both.
std::map<std::pair<NameId, NameId>, std::vector<int64_t>> opening_times(const EventTable& table,
                                                                        const Nesting& nested) {
  std::map<std::pair<NameId, NameId>, std::vector<int64_t>> out;
  for (size_t i = 0; i < nested.order.size(); ++i) {
    const uint32_t row = nested.order[i];
    if (table.kind[row] != EventKind::kCpuOp) continue;
    const bool has_child = i + 1 < nested.order.size() && nested.parent[nested.order[i + 1]] == row;
    if (has_child) {
      const uint32_t child = nested.order[i + 1];
      out[{table.name[row], table.name[child]}].push_back(table.ts_ns[child] - table.ts_ns[row]);
    } else {
      out[{table.name[row], kNoName}].push_back(table.dur_ns[row]);
    }
  }
  return out;
}

int64_t op_cost(const EventTable& table, const Nesting& nested) {
  struct Point {
    double spread, median;
  };
  std::vector<Point> points;
  for (auto& [names, times] : opening_times(table, nested)) {
    if (times.size() < kLeastRepeats) continue;
    const int64_t median = at_share(times, 0.5);
    const int64_t spread = at_share(times, 0.75) - at_share(times, 0.25);
    if (spread > 0) points.push_back({double(spread), double(median)});
  }
  if (points.size() < kLeastNames) return 0;
  // Theil-Sen: the median slope, then the median of what it leaves.
  std::vector<double> slopes, rest;
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t j = i + 1; j < points.size(); ++j) {
      const double run = points[j].spread - points[i].spread;
      // Names of nearly equal spread say nothing about the slope.
      if (std::abs(run) > 0.25 * std::max(points[i].spread, points[j].spread)) {
        slopes.push_back((points[j].median - points[i].median) / run);
      }
    }
  }
  if (slopes.empty()) return 0;
  const auto middle = [](std::vector<double>& values) {
    const auto at = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  };
  const double slope = middle(slopes);
  for (const Point& point : points) rest.push_back(point.median - slope * point.spread);
  return std::max<int64_t>(0, static_cast<int64_t>(middle(rest)));
}

}  // namespace

ProfilerCost estimate_profiler_cost(const EventTable& table) {
  const Nesting nested = nesting(table);
  return {call_cost(table, nested), op_cost(table, nested)};
}

std::vector<int64_t> profiler_part(const ExecGraph& graph, const RankTasks& rank, const ProfilerCost& cost) {
  std::vector<int64_t> part(rank.end_task - rank.first_task, 0);
  std::vector<bool> opened(rank.table->size(), false);
  // Tasks of a thread come in program order: what follows a call on it holds that call's bookkeeping.
  std::vector<bool> after_call(graph.processors.size(), false);
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    const TaskKind kind = graph.kind[task];
    if (is_gpu_task(kind) || kind == TaskKind::kGap || graph.processor[task] == kNoProcessor) continue;
    int64_t bookkeeping = 0;
    if (kind == TaskKind::kHost) {
      if (after_call[graph.processor[task]]) bookkeeping += cost.per_call_ns;
      const uint32_t row = graph.event[task];
      if (row != kNoIndex && !opened[row]) {
        opened[row] = true;
        if (rank.table->kind[row] == EventKind::kCpuOp) bookkeeping += cost.per_op_ns;
      }
    }
    after_call[graph.processor[task]] = kind != TaskKind::kHost;
    part[task - rank.first_task] = std::min(bookkeeping, graph.duration_ns[task]);
  }
  return part;
}

std::vector<int64_t> profiler_ns(const ExecGraph& graph, int threads) {
  std::vector<int64_t> all(graph.size(), 0);
  parallel_for(graph.ranks.size(), threads, [&](size_t r) {
    const RankTasks& rank = graph.ranks[r];
    const std::vector<int64_t> part = profiler_part(graph, rank, estimate_profiler_cost(*rank.table));
    std::copy(part.begin(), part.end(), all.begin() + rank.first_task);
  });
  return all;
}

}  // namespace lumos

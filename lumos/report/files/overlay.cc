#include "lumos/report/files/overlay.h"

#include <algorithm>
#include <map>

#include "lumos/graph/host/collective.h"
#include "lumos/report/figures/busy.h"
#include "lumos/report/figures/utilisation.h"

namespace lumos {

namespace {

CounterCurve percent_curve(const char* name, const std::vector<double>& shares, Window window, int64_t interval_ns) {
  CounterCurve curve;
  curve.name = name;
  for (size_t i = 0; i < shares.size(); ++i) {
    curve.points.push_back({window.start_ns + static_cast<int64_t>(i) * interval_ns, 100 * shares[i]});
  }
  if (!curve.points.empty()) curve.points.push_back({window.end_ns, 0});
  return curve;
}

CounterCurve bandwidth_curve(const EventTable& table, Window window) {
  std::map<int64_t, double> change_at;  // bytes per nanosecond, which are GB/s
  for (size_t row = 0; row < table.size(); ++row) {
    const CollectiveDetail* collective = is_gpu_work(table.kind[row]) ? table.collective_detail(row) : nullptr;
    if (collective == nullptr || table.dur_ns[row] <= 0) continue;
    if (table.end_ns(row) <= window.start_ns || table.ts_ns[row] >= window.end_ns) continue;
    const double rate =
        static_cast<double>(collective_bytes(table, *collective)) / static_cast<double>(table.dur_ns[row]);
    if (rate <= 0) continue;
    change_at[table.ts_ns[row]] += rate;
    change_at[table.end_ns(row)] -= rate;
  }
  CounterCurve curve;
  curve.name = "communication GB/s";
  double rate = 0;
  for (const auto& [ts_ns, change] : change_at) {
    rate += change;
    curve.points.push_back({ts_ns, std::max(0.0, rate)});
  }
  return curve;
}

/// Whether the path goes on in another row of another thread or stream.
bool leads_elsewhere(const ExecGraph& graph, uint32_t from, uint32_t to) {
  return graph.processor[from] != graph.processor[to] && graph.event[from] != graph.event[to];
}

std::string arrow_label(const ExecGraph& graph, uint32_t from, uint32_t to) {
  const bool from_gpu = is_gpu_task(graph.kind[from]);
  const bool to_gpu = is_gpu_task(graph.kind[to]);
  if (from_gpu && to_gpu) return "between streams";
  if (to_gpu) return "launch";
  return from_gpu ? "synchronisation" : "between threads";
}

}  // namespace

std::vector<CounterCurve> counter_curves(const EventTable& table, Window window) {
  const Utilisation curves = utilisation(busy_intervals(table), window, utilisation_interval_ns(window.length_ns()));
  std::vector<CounterCurve> result = {percent_curve("SM utilisation %", curves.busy, window, curves.interval_ns),
                                      percent_curve("SMs filled %", curves.weighted, window, curves.interval_ns),
                                      bandwidth_curve(table, window)};
  std::erase_if(result, [](const CounterCurve& curve) { return curve.points.empty(); });
  return result;
}

void add_critical_path(const ExecGraph& graph, uint32_t rank_index, const CriticalPath& path, ChromeOptions& options) {
  const RankTasks& rank = graph.ranks[rank_index];
  options.arrows.clear();
  options.critical.assign(rank.table->size(), 0);
  uint32_t previous = kNoIndex;
  for (uint32_t task : path.tasks) {
    const bool own = task >= rank.first_task && task < rank.end_task;
    const uint32_t row = own ? graph.event[task] : kNoIndex;
    if (row == kNoIndex) continue;
    options.critical[row] = 1;
    if (previous != kNoIndex && leads_elsewhere(graph, previous, task)) {
      RowArrow arrow;
      arrow.from_row = graph.event[previous];
      arrow.to_row = row;
      // The return from a synchronise lies at the end of its row, where the work that it waited for lets it go on.
      const bool returns = graph.kind[task] == TaskKind::kSyncReturn;
      arrow.to_ns = returns ? rank.table->end_ns(row) : graph.measured_start_ns[task];
      // A launch leads to its kernel from its start, other tasks from their end.
      arrow.from_ns = std::min(measured_end_ns(graph, rank, previous), arrow.to_ns);
      arrow.from_ns = std::max(arrow.from_ns, graph.measured_start_ns[previous]);
      arrow.label = arrow_label(graph, previous, task);
      options.arrows.push_back(std::move(arrow));
    }
    previous = task;
  }
}

}  // namespace lumos

#include "lumos/report/rank_curve.h"

#include <algorithm>

#include "lumos/report/steps.h"

namespace lumos {

namespace {

constexpr int64_t kMostIntervals = 400;  // As many as a chart has pixels to tell apart; a prediction stays small.

/// A communication kernel occupies its stream from its arrival on.
int64_t begin_ns(const ExecGraph& graph, const Timeline& timeline, uint32_t task) {
  for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
    if (graph.edges[e].kind == EdgeKind::kTransferOf) return timeline.end_ns[graph.edges[e].source];
  }
  return timeline.start_ns[task];
}

std::vector<BusyInterval> gpu_intervals(const ExecGraph& graph, const Timeline& timeline, const RankTasks& rank) {
  std::vector<BusyInterval> intervals;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    if (!is_gpu_task(graph.kind[task])) continue;
    const int64_t start_ns = begin_ns(graph, timeline, task);
    if (timeline.end_ns[task] > start_ns) intervals.push_back({start_ns, timeline.end_ns[task], false, 0});
  }
  std::sort(intervals.begin(), intervals.end(),
            [](const BusyInterval& a, const BusyInterval& b) { return a.start_ns < b.start_ns; });
  return intervals;
}

}  // namespace

std::vector<RankCurve> rank_curves(const ExecGraph& graph, const Timeline& timeline) {
  std::vector<RankCurve> curves;
  for (const RankTasks& rank : graph.ranks) {
    const std::vector<uint32_t> chosen = chosen_steps(rank);
    if (chosen.empty()) continue;
    const Window window = simulated_window(timeline, rank.steps[chosen[(chosen.size() - 1) / 2]]);
    const int64_t times =
        (window.length_ns() + kMostIntervals * kUtilisationIntervalNs - 1) / (kMostIntervals * kUtilisationIntervalNs);
    const int64_t interval_ns = kUtilisationIntervalNs * std::max<int64_t>(1, times);
    curves.push_back(
        {rank.rank, window.length_ns(), utilisation(gpu_intervals(graph, timeline, rank), window, interval_ns)});
  }
  return curves;
}

void write_rank_curves(JsonWriter& json, const std::vector<RankCurve>& curves) {
  json.begin_array();
  for (const RankCurve& curve : curves) {
    json.begin_object().member("rank", curve.rank).member("step_ms", static_cast<double>(curve.length_ns) / 1e6);
    json.member("interval_ms", static_cast<double>(curve.curve.interval_ns) / 1e6).key("busy_pct").begin_array();
    for (double share : curve.curve.busy) json.value(100 * share, 1);
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace lumos

#include "lumos/report/figures/rank_curve.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lumos/report/figures/steps.h"

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

/// Adds `curve` to `sum`, whose intervals are a whole number of times as long.
void add_curve(const Utilisation& curve, Utilisation& sum) {
  const auto times = static_cast<size_t>(sum.interval_ns / curve.interval_ns);
  for (size_t i = 0; i < curve.busy.size(); ++i) {
    if (sum.busy.size() <= i / times) sum.busy.resize(i / times + 1, 0);
    sum.busy[i / times] += curve.busy[i] / static_cast<double>(times);
  }
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

std::vector<RankCurve> mean_curves(const std::vector<std::vector<RankCurve>>& runs) {
  int64_t interval_ns = 0;
  for (const std::vector<RankCurve>& run : runs) {
    for (const RankCurve& curve : run) interval_ns = std::max(interval_ns, curve.curve.interval_ns);
  }
  std::map<int32_t, std::pair<RankCurve, double>> sums;  // with the number of runs
  for (const std::vector<RankCurve>& run : runs) {
    for (const RankCurve& curve : run) {
      auto& [sum, count] = sums[curve.rank];
      sum.rank = curve.rank;
      sum.length_ns += curve.length_ns;
      sum.curve.interval_ns = interval_ns;
      add_curve(curve.curve, sum.curve);
      ++count;
    }
  }
  std::vector<RankCurve> curves;
  for (auto& [rank, entry] : sums) {
    auto& [sum, count] = entry;
    sum.length_ns = static_cast<int64_t>(static_cast<double>(sum.length_ns) / count);
    for (double& share : sum.curve.busy) share /= count;
    curves.push_back(std::move(sum));
  }
  return curves;
}

size_t curve_for(const std::vector<RankCurve>& curves, int32_t rank, size_t index, size_t ranks) {
  for (size_t i = 0; i < curves.size(); ++i) {
    if (curves[i].rank == rank) return i;
  }
  return std::min(curves.size() - 1, index * curves.size() / std::max<size_t>(1, ranks));
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

#include "lumos/report/figures/job_step.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "lumos/report/figures/steps.h"

namespace lumos {

namespace {

double step_ms(const RankTasks& rank, const Timeline& timeline, uint32_t step) {
  return static_cast<double>(simulated_window(timeline, rank.steps[step]).length_ns()) / 1e6;
}

/// The last task of each stream that was launched before the rank's first step.
std::vector<uint32_t> launched_before_steps(const ExecGraph& graph, const RankTasks& rank) {
  if (rank.steps.empty()) return {};
  const int64_t begin_ns = graph.measured_start_ns[rank.steps.front().first_task];
  std::map<uint32_t, uint32_t> last;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    if (!is_gpu_task(graph.kind[task]) || graph.processor[task] == kNoProcessor) continue;
    int64_t launched_ns = graph.measured_start_ns[task];
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      if (graph.edges[e].kind == EdgeKind::kLaunch) launched_ns = graph.measured_start_ns[graph.edges[e].source];
    }
    if (launched_ns < begin_ns) last[graph.processor[task]] = task;
  }
  std::vector<uint32_t> tasks;
  for (const auto& [stream, task] : last) tasks.push_back(task);
  return tasks;
}

}  // namespace

double simulated_step_ms(const ExecGraph& graph, const Timeline& timeline) {
  double sum = 0;
  size_t ranks = 0;
  for (const RankTasks& rank : graph.ranks) {
    const std::vector<uint32_t> chosen = chosen_steps(rank);
    if (chosen.empty()) continue;
    double own = 0;
    for (uint32_t step : chosen) own += step_ms(rank, timeline, step);
    sum += own / static_cast<double>(chosen.size());
    ++ranks;
  }
  return ranks > 0 ? sum / static_cast<double>(ranks) : 0;
}

std::vector<double> simulated_steps_ms(const ExecGraph& graph, const Timeline& timeline) {
  std::vector<double> sums;
  std::vector<size_t> counts;
  std::map<std::string, size_t> place;  // Ranks may have begun to record at different steps.
  for (const RankTasks& rank : graph.ranks) {
    for (uint32_t step : chosen_steps(rank)) {
      const auto [it, fresh] = place.try_emplace(rank.steps[step].name, sums.size());
      if (fresh) {
        sums.push_back(0);
        counts.push_back(0);
      }
      sums[it->second] += step_ms(rank, timeline, step);
      ++counts[it->second];
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) sums[i] /= static_cast<double>(counts[i]);
  return sums;
}

StepPace::StepPace(const ExecGraph& graph) : graph_(graph) {
  for (const RankTasks& rank : graph.ranks) before_.push_back(launched_before_steps(graph, rank));
}

double StepPace::ms(const Timeline& timeline) const {
  double sum_ms = 0;
  size_t ranks = 0;
  for (size_t r = 0; r < graph_.ranks.size(); ++r) {
    int64_t done_ns = std::numeric_limits<int64_t>::min();  // when all so far has ended
    for (uint32_t task : before_[r]) done_ns = std::max(done_ns, timeline.end_ns[task]);
    double own_ms = 0;
    size_t chosen = 0;
    bool first = true;
    for (const Step& step : graph_.ranks[r].steps) {
      const Window window = simulated_window(timeline, step);
      const int64_t from_ns = std::exchange(first, false) ? std::max(done_ns, window.start_ns) : done_ns;
      done_ns = std::max(from_ns, window.end_ns);
      if (!step.chosen) continue;
      own_ms += static_cast<double>(done_ns - from_ns) / 1e6;
      ++chosen;
    }
    if (chosen == 0) continue;
    sum_ms += own_ms / static_cast<double>(chosen);
    ++ranks;
  }
  return ranks > 0 ? sum_ms / static_cast<double>(ranks) : 0;
}

}  // namespace lumos

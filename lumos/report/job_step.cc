#include "lumos/report/job_step.h"

#include <algorithm>
#include <map>
#include <string>

#include "lumos/report/steps.h"

namespace lumos {

namespace {

double step_ms(const RankTasks& rank, const Timeline& timeline, uint32_t step) {
  return static_cast<double>(simulated_window(timeline, rank.steps[step]).length_ns()) / 1e6;
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

double simulated_run_ms(const ExecGraph& graph, const Timeline& timeline) {
  double sum_ms = 0;
  size_t ranks = 0;
  for (const RankTasks& rank : graph.ranks) {
    const std::vector<uint32_t> chosen = chosen_steps(rank);
    if (chosen.empty()) continue;
    if (chosen.back() - chosen.front() + 1 != chosen.size()) return 0;
    int64_t end_ns = 0;
    for (uint32_t step : chosen) end_ns = std::max(end_ns, simulated_window(timeline, rank.steps[step]).end_ns);
    const int64_t start_ns = simulated_window(timeline, rank.steps[chosen.front()]).start_ns;
    sum_ms += static_cast<double>(end_ns - start_ns) / 1e6 / static_cast<double>(chosen.size());
    ++ranks;
  }
  return ranks > 0 ? sum_ms / static_cast<double>(ranks) : 0;
}

}  // namespace lumos

#include "lumos/report/results/gains_result.h"

#include <algorithm>
#include <map>

#include "lumos/base/parallel.h"
#include "lumos/report/figures/critical_path.h"
#include "lumos/report/figures/job_step.h"
#include "lumos/report/figures/steps.h"
#include "lumos/report/results/path_table.h"
#include "lumos/sim/simulate.h"
#include "lumos/whatif/gains/gains.h"

namespace lumos {

namespace {

// What comes after an entry is asked for the first ones only: each takes a walk with names.
constexpr size_t kMostThen = 12;
// Nine tenths of a gain in proportion come with nine tenths of the time: what ends near there does not end early.
constexpr double kNeverEnds = 0.8;

/// Nanoseconds per step that each task is on the critical path of its or another rank, mean over ranks and steps.
std::vector<double> path_time(const ExecGraph& graph, const Timeline& timeline, int threads) {
  std::vector<std::vector<std::pair<uint32_t, double>>> of_rank(graph.ranks.size());
  size_t counted = 0;
  for (const RankTasks& rank : graph.ranks) counted += chosen_steps(rank).empty() ? 0 : 1;
  parallel_for(graph.ranks.size(), threads, [&](size_t r) {
    const std::vector<uint32_t> steps = chosen_steps(graph.ranks[r]);
    const double weight = 1 / static_cast<double>(std::max<size_t>(1, steps.size() * counted));
    for (uint32_t step : steps) {
      const CriticalPath path = critical_path(graph, timeline, static_cast<uint32_t>(r), graph.ranks[r].steps[step]);
      for (const PathPiece& piece : path.pieces) {
        // A lag is a latency of the machine, except where it is room on the GPU: then it is a part of the task.
        const bool own = piece.edge == kNoIndex || graph.edges[piece.edge].kind == EdgeKind::kFirstWave;
        if (own) of_rank[r].emplace_back(piece.task, weight * static_cast<double>(piece.length_ns()));
      }
    }
  });
  std::vector<double> out(graph.size(), 0);
  for (const auto& pieces : of_rank) {
    for (const auto& [task, ns] : pieces) out[task] += ns;
  }
  return out;
}

double on_path_ns(const ExecGraph& graph, const Candidate& candidate, const std::vector<double>& path_ns) {
  double sum = 0;
  for (size_t i = 0; i < candidate.tasks.size(); ++i) {
    const uint32_t task = candidate.tasks[i];
    const double duration = static_cast<double>(graph.duration_ns[task]);
    const double fixed = candidate.fixed_ns.empty() ? 0 : static_cast<double>(candidate.fixed_ns[i]);
    if (duration > 0) sum += path_ns[task] * (duration - fixed) / duration;
  }
  return sum;
}

/// Steps of all ranks together: what a sum over the whole trace is divided by.
double rank_steps(const ExecGraph& graph) {
  size_t steps = 0;
  for (const RankTasks& rank : graph.ranks) steps += chosen_steps(rank).size();
  return static_cast<double>(std::max<size_t>(1, steps));
}

/// A candidate's time within the chosen steps.
double chosen_time_ns(const ExecGraph& graph, const Candidate& candidate, const std::vector<bool>& chosen) {
  double sum = 0;
  for (size_t i = 0; i < candidate.tasks.size(); ++i) {
    if (!chosen[candidate.tasks[i]]) continue;
    sum += static_cast<double>(graph.duration_ns[candidate.tasks[i]]);
    if (!candidate.fixed_ns.empty()) sum -= static_cast<double>(candidate.fixed_ns[i]);
  }
  return sum;
}

std::vector<bool> tasks_in_steps(const ExecGraph& graph, const Timeline& timeline) {
  std::vector<bool> chosen(graph.size(), false);
  for (const RankTasks& rank : graph.ranks) {
    for (uint32_t step : chosen_steps(rank)) {
      const Window window = simulated_window(timeline, rank.steps[step]);
      for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
        const int64_t start_ns = timeline.start_ns[task];
        if (start_ns >= window.start_ns && start_ns < window.end_ns) chosen[task] = true;
      }
    }
  }
  return chosen;
}

/// The rank whose first chosen step is longest, and that step: where one path is told by name.
std::pair<uint32_t, const Step*> told_step(const ExecGraph& graph, const Timeline& timeline) {
  std::pair<uint32_t, const Step*> told{0, nullptr};
  int64_t longest_ns = -1;
  for (uint32_t r = 0; r < graph.ranks.size(); ++r) {
    const std::vector<uint32_t> steps = chosen_steps(graph.ranks[r]);
    if (steps.empty()) continue;
    const Step& step = graph.ranks[r].steps[steps.front()];
    const int64_t length_ns = simulated_window(timeline, step).length_ns();
    if (length_ns > longest_ns) told = {r, &step};
    longest_ns = std::max(longest_ns, length_ns);
  }
  return told;
}

using PathSums = std::map<std::string, int64_t>;

PathSums path_sums(const ExecGraph& graph, const Timeline& timeline, uint32_t rank_index, const Step& step) {
  PathSums sums;
  for (const PathShare& share : path_by_task(graph, critical_path(graph, timeline, rank_index, step))) {
    const std::string cause(path_cause_name(share.cause));
    const bool told = share.cause == PathCause::kWaitForRank && !share.label.empty();  // "rank 5: gemm"
    sums[told ? share.label : share.label.empty() ? cause : cause + ": " + share.label] += share.time_ns;
  }
  return sums;
}

/// What grew most on the path.
std::string grown(const PathSums& before, const PathSums& after) {
  std::string most;
  int64_t most_ns = 0;
  for (const auto& [label, ns] : after) {
    const auto was = before.find(label);
    const int64_t more_ns = ns - (was == before.end() ? 0 : was->second);
    if (more_ns > most_ns) most = label;
    most_ns = std::max(most_ns, more_ns);
  }
  return most;
}

}  // namespace

GainsResult gains_result(const LinkedJob& job, const GainsOptions& options) {
  const ExecGraph& graph = job.linked.graph;
  const Timeline timeline = simulate(graph);
  const std::vector<Candidate> candidates = find_candidates(job, options.threads);
  GainOptions search;
  search.least_share = options.least_share;
  search.threads = options.threads;
  search.stop = options.stop;
  // Without a wait the host may run ahead: the windows of the steps then overlap, which steps end to end do not.
  const StepPace pace(graph);
  const auto step_ns = [&](const Timeline& run) { return 1e6 * pace.ms(run); };
  const std::vector<Gain> gains = find_gains(job, candidates, step_ns, search);
  if (options.stop.stop_requested()) return {};
  const std::vector<double> path_ns = path_time(graph, timeline, options.threads);
  const std::vector<bool> chosen = tasks_in_steps(graph, timeline);
  const double steps = rank_steps(graph);

  GainsResult result;
  result.step_ms = simulated_step_ms(graph, timeline);
  result.tried = candidates.size();
  result.rows.resize(gains.size());
  const std::pair<uint32_t, const Step*> where = told_step(graph, timeline);
  const uint32_t told_rank = where.first;
  const Step* told = where.second;
  const PathSums before = told != nullptr ? path_sums(graph, timeline, told_rank, *told) : PathSums{};
  const auto fill_row = [&](size_t i) {
    const Gain& gain = gains[i];
    const Candidate& candidate = candidates[gain.candidate];
    GainRow& row = result.rows[i];
    row.kind = candidate.kind;
    row.name = candidate.name;
    row.time_ms = chosen_time_ns(graph, candidate, chosen) / steps / 1e6;
    row.on_path_ms = on_path_ns(graph, candidate, path_ns) / 1e6;
    row.tenth_ms = gain.tenth_ns / 1e6;
    row.half_ms = gain.half_ns / 1e6;
    row.free_ms = gain.free_ns / 1e6;
    row.peers_ms = gain.peers_ns / 1e6;
    row.ends_after = gain.ends_after > kNeverEnds ? 1 : gain.ends_after;
    if (i >= kMostThen || row.ends_after >= 1 || told == nullptr) return;
    const ExecGraph free = with_candidate(job, candidate, 0);
    row.then = grown(before, path_sums(free, simulate(free), told_rank, *told));
  };
  parallel_for(gains.size(), options.threads, fill_row, options.stop);
  return result;
}

}  // namespace lumos

#include "lumos/report/results/replay_result.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "lumos/base/parallel.h"
#include "lumos/report/figures/critical_path.h"
#include "lumos/report/figures/measured_timeline.h"
#include "lumos/report/figures/residual.h"
#include "lumos/sim/replayed_table.h"

namespace lumos {

namespace {

double ms_of(int64_t ns) { return static_cast<double>(ns) / 1e6; }

/// `part` of `count` steps or ranks; 0 of none.
double mean_of(double sum, size_t count) { return count > 0 ? sum / static_cast<double>(count) : 0; }

BreakdownMs per_step(const Breakdown& sum, size_t steps) {
  return {mean_of(ms_of(sum.exposed_compute_ns), steps), mean_of(ms_of(sum.overlapped_ns), steps),
          mean_of(ms_of(sum.exposed_comm_ns), steps), mean_of(ms_of(sum.other_ns), steps)};
}

double mean(const std::vector<double>& values) {
  return mean_of(std::accumulate(values.begin(), values.end(), 0.0), values.size());
}

bool has_gpu_tasks(const ExecGraph& graph, const RankTasks& rank) {
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    // gloo's transfers run on CPU threads.
    if (is_gpu_task(graph.kind[task]) && graph.processors[graph.processor[task]].is_gpu) return true;
  }
  return false;
}

DependencyCounts count_dependencies(const ExecGraph& graph, const RankTasks& rank) {
  DependencyCounts counts;
  for (uint32_t e = graph.edge_begin[rank.first_task]; e < graph.edge_begin[rank.end_task]; ++e) {
    const Edge& edge = graph.edges[e];
    switch (edge.kind) {
      case EdgeKind::kThread:
        ++counts.cpu_cpu;
        break;
      case EdgeKind::kInterThread:
        ++counts.inter_thread;
        break;
      case EdgeKind::kLaunch:
        ++counts.launch;
        break;
      case EdgeKind::kSync:
        ++counts.sync;
        break;
      case EdgeKind::kStream:
        ++counts.stream;
        break;
      case EdgeKind::kInterStream:
        ++(edge.recorded ? counts.inter_stream_recorded : counts.inter_stream_inferred);
        break;
      case EdgeKind::kQueue:
        ++counts.queue;
        break;
      case EdgeKind::kIssueOrder:
        ++counts.issue_order;
        break;
      case EdgeKind::kFirstWave:
        ++counts.room;
        break;
      case EdgeKind::kRendezvous:
        ++counts.rendezvous;
        break;
      case EdgeKind::kTransferOf:  // Two halves of one kernel, no dependency of the program.
      case EdgeKind::kCount:
        break;
    }
  }
  return counts;
}

void count_tasks(const ExecGraph& graph, const RankTasks& rank, RankResult& result) {
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    // An arrival and its transfer are one GPU task; a rendezvous is nobody's work.
    if (graph.kind[task] == TaskKind::kArrive || graph.kind[task] == TaskKind::kRendezvous) continue;
    // gloo's transfers run on CPU threads.
    const bool on_gpu = is_gpu_task(graph.kind[task]) && graph.processors[graph.processor[task]].is_gpu;
    ++(on_gpu || graph.kind[task] == TaskKind::kGap ? result.gpu_tasks : result.cpu_tasks);
  }
}

/// Mean |replayed - measured start| over the GPU tasks that start in the chosen steps, each step zeroed at its start.
double kernel_start_mae_us(const ExecGraph& graph, const Timeline& timeline, const RankTasks& rank,
                           const std::vector<StepResult>& steps) {
  double sum_ns = 0;
  size_t count = 0;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    if (!is_gpu_task(graph.kind[task]) || graph.kind[task] == TaskKind::kTransfer) continue;
    const int64_t measured_ns = graph.measured_start_ns[task];
    const auto step = std::partition_point(steps.begin(), steps.end(),
                                           [&](const StepResult& s) { return s.measured.end_ns <= measured_ns; });
    if (step == steps.end() || measured_ns < step->measured.start_ns) continue;
    const int64_t replayed_ns = timeline.start_ns[task] - step->replayed.start_ns;
    sum_ns += static_cast<double>(std::abs(replayed_ns - (measured_ns - step->measured.start_ns)));
    ++count;
  }
  return mean_of(sum_ns, count) / 1e3;
}

void compare_curves(std::span<const BusyInterval> measured, std::span<const BusyInterval> replayed,
                    RankResult& result) {
  Breakdown measured_sum;
  Breakdown replayed_sum;
  for (const StepResult& step : result.steps) {
    skip_before(measured, step.measured.start_ns);
    skip_before(replayed, step.replayed.start_ns);
    measured_sum += breakdown(measured, step.measured);
    replayed_sum += breakdown(replayed, step.replayed);
    const int64_t interval_ns = utilisation_interval_ns(std::max(step.measured.length_ns(), step.replayed.length_ns()));
    const Utilisation before = utilisation(measured, step.measured, interval_ns);
    const Utilisation after = utilisation(replayed, step.replayed, interval_ns);
    result.utilisation_mae += mean_absolute_difference(before.busy, after.busy);
    result.weighted_utilisation_mae += mean_absolute_difference(before.weighted, after.weighted);
    result.utilisation_measured += mean(before.busy);
    result.utilisation_replayed += mean(after.busy);
  }
  const size_t steps = result.steps.size();
  for (double* sum : {&result.utilisation_mae, &result.weighted_utilisation_mae, &result.utilisation_measured,
                      &result.utilisation_replayed}) {
    *sum = mean_of(*sum, steps);
  }
  result.measured = per_step(measured_sum, steps);
  result.replayed = per_step(replayed_sum, steps);
}

RankResult rank_result(const ExecGraph& graph, const Timeline& timeline, const Timeline& measured,
                       uint32_t rank_index) {
  const RankTasks& rank = graph.ranks[rank_index];
  RankResult result;
  result.rank = rank.rank;
  result.file = rank.table->info.file;
  result.constants = rank.constants;
  result.dependencies = count_dependencies(graph, rank);
  count_tasks(graph, rank, result);
  const HiddenWaits hidden_waits(graph, rank);
  const auto unexplained_on_path = [&](const Timeline& of, const Step& step) {
    return ms_of(unexplained_ns(graph, rank_index, critical_path(graph, of, rank_index, step), hidden_waits));
  };
  for (const Step& step : rank.steps) {
    if (!step.chosen) {
      result.left_out.push_back({step.name, step.left_out_reason});
      continue;
    }
    result.steps.push_back({step.name, measured_window(graph, rank, step), simulated_window(timeline, step)});
    result.measured_ms += ms_of(result.steps.back().measured.length_ns());
    result.replayed_ms += ms_of(result.steps.back().replayed.length_ns());
    result.unexplained_ms += unexplained_on_path(timeline, step);
    result.unexplained_measured_ms += unexplained_on_path(measured, step);
  }
  const size_t steps = result.steps.size();
  result.measured_ms = mean_of(result.measured_ms, steps);
  result.replayed_ms = mean_of(result.replayed_ms, steps);
  result.unexplained_ms = mean_of(result.unexplained_ms, steps);
  result.unexplained_measured_ms = mean_of(result.unexplained_measured_ms, steps);
  result.kernel_start_mae_us = kernel_start_mae_us(graph, timeline, rank, result.steps);
  const ReplayedRows rows = has_gpu_tasks(graph, rank) ? ReplayedRows::kGpu : ReplayedRows::kAll;
  compare_curves(busy_intervals(*rank.table), busy_intervals(replayed_table(graph, timeline, rank_index, rows)),
                 result);
  return result;
}

/// Mean over the steps that all ranks have, by name, of first start to last end over the ranks; nothing where there is
/// no such step.
template <class WindowOf>
std::optional<double> span_ms(const std::vector<RankResult>& ranks, WindowOf window_of) {
  struct Span {
    Window window{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    size_t ranks = 0;
  };
  std::map<std::string, Span> spans;
  for (size_t r = 0; r < ranks.size(); ++r) {
    for (const StepResult& step : ranks[r].steps) {
      Span& span = spans[step.name];
      if (span.ranks++ > r) return std::nullopt;  // Two steps of one name: nothing tells which ran beside which.
      const Window window = window_of(r, step);
      span.window.start_ns = std::min(span.window.start_ns, window.start_ns);
      span.window.end_ns = std::max(span.window.end_ns, window.end_ns);
    }
  }
  double sum_ms = 0;
  size_t count = 0;
  for (const auto& [name, span] : spans) {
    if (span.ranks < ranks.size()) continue;
    sum_ms += ms_of(span.window.length_ns());
    ++count;
  }
  if (count == 0) return std::nullopt;
  return mean_of(sum_ms, count);
}

void add_mean(BreakdownMs& sum, const BreakdownMs& part, size_t count) {
  sum.exposed_compute += mean_of(part.exposed_compute, count);
  sum.overlapped += mean_of(part.overlapped, count);
  sum.exposed_comm += mean_of(part.exposed_comm, count);
  sum.other += mean_of(part.other, count);
}

/// What the ranks say together; a rank without a chosen step has no say in the means.
void summarise(ReplayResult& result, const std::vector<int64_t>& clock_offset_ns) {
  const size_t count = static_cast<size_t>(std::count_if(result.ranks.begin(), result.ranks.end(),
                                                         [](const RankResult& rank) { return !rank.steps.empty(); }));
  for (const RankResult& rank : result.ranks) {
    if (rank.steps.empty()) continue;
    result.measured_ms += mean_of(rank.measured_ms, count);
    result.replayed_ms += mean_of(rank.replayed_ms, count);
    add_mean(result.measured, rank.measured, count);
    add_mean(result.replayed, rank.replayed, count);
  }
  result.replayed_span_ms = span_ms(result.ranks, [](size_t, const StepResult& step) { return step.replayed; });
  const bool one_clock = result.ranks.size() == 1 || clock_offset_ns.size() == result.ranks.size();
  if (one_clock) {
    result.measured_span_ms = span_ms(result.ranks, [&](size_t r, const StepResult& step) {
      const int64_t offset_ns = clock_offset_ns.empty() ? 0 : clock_offset_ns[r];
      return Window{step.measured.start_ns + offset_ns, step.measured.end_ns + offset_ns};
    });
  }
}

}  // namespace

double error_percent(double measured_ms, double replayed_ms) {
  if (measured_ms <= 0) return std::numeric_limits<double>::quiet_NaN();
  return 100 * (replayed_ms - measured_ms) / measured_ms;
}

ReplayResult replay_result(const ExecGraph& graph, const Timeline& timeline, const ReplayResultOptions& options) {
  ReplayResult result;
  result.strict = options.strict;
  result.ranks.resize(graph.ranks.size());
  const Timeline measured = measured_timeline(graph);
  parallel_for(graph.ranks.size(), options.threads,
               [&](size_t r) { result.ranks[r] = rank_result(graph, timeline, measured, static_cast<uint32_t>(r)); });
  for (const RankTasks& rank : graph.ranks) {
    result.input_events += rank.table->info.events;
    result.input_repaired += rank.table->info.repaired();
    result.input_skipped += rank.table->info.skipped();
    result.input_cut_short += rank.table->info.truncated ? 1 : 0;
    result.input_bytes += rank.table->info.decoded_bytes;
  }
  summarise(result, options.clock_offset_ns);
  return result;
}

}  // namespace lumos

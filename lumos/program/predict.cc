#include "lumos/program/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "lumos/base/parallel.h"
#include "lumos/program/change/job_effects.h"
#include "lumos/program/change/retime.h"
#include "lumos/program/change/switches.h"
#include "lumos/program/forecast_table.h"
#include "lumos/sim/simulate.h"

namespace lumos {
namespace {

/// A program that was recovered right gives the measured step again within this share of it (docs/accuracy-program.md).
constexpr double kUsualIdentityError = 0.02;

/// Of a simulated step: some ten gigabytes. 128 layers and 512 micro-batches take about a third.
constexpr double kMostTasks = 1e8;

double measured_step_ms(const Recovery& recovery) {
  double sum = 0;
  int count = 0;
  for (size_t r = 0; r < recovery.catalogs.size(); ++r) {
    const std::vector<int64_t>& starts = recovery.program.ranks[r].recovered.step_start_ns;
    for (const StepBlocks& step : recovery.catalogs[r].steps) {
      sum += static_cast<double>(starts[static_cast<size_t>(step.step) + 1] - starts[static_cast<size_t>(step.step)]) /
             1e6;
      ++count;
    }
  }
  return count > 0 ? sum / count : 0;
}

/// What the traces hold besides whole steps of the job, in words; nothing where all is taken.
std::vector<std::string> left_out_steps(const Recovery& recovery) {
  size_t ranks = 0, steps = 0, kept = 0;
  std::string first;
  for (size_t r = 0; r < recovery.catalogs.size(); ++r) {
    const RankCatalog& catalog = recovery.catalogs[r];
    if (catalog.left_out.empty()) continue;
    ++ranks;
    if (!first.empty()) continue;
    steps = catalog.left_out.size();
    kept = catalog.steps.size();
    std::vector<int> places;
    for (int16_t step : catalog.left_out) places.push_back(step + 1);
    first = fmt::format("rank {}: step {}", recovery.program.ranks[r].rank, fmt::join(places, ", "));
  }
  if (ranks == 0) return {};
  return {fmt::format("{} of {} traced steps {} no whole step of this job and left out ({}{})", steps, steps + kept,
                      steps == 1 ? "is" : "are", first,
                      ranks > 1 ? fmt::format("; {} more ranks leave out some", ranks - 1) : "")};
}

/// Time between two synchronisations of the replicas, up to a constant: a step of `slots` micro-batches.
double micro_batch_ms(const Job& job, double step_ms) {
  const double fill = static_cast<double>(job.pipeline_model_parallel_size - 1) /
                      static_cast<double>(job.virtual_pipeline_model_parallel_size);
  return step_ms / (static_cast<double>(job.num_microbatches) + fill);
}

Forecast summarise(std::vector<StepFigures> figures) {
  Forecast out;
  for (const StepFigures& one : figures) out.mean += one;
  out.mean = out.mean * (1.0 / static_cast<double>(figures.size()));
  std::sort(figures.begin(), figures.end(),
            [](const StepFigures& a, const StepFigures& b) { return a.step_ms < b.step_ms; });
  auto quantile = [&](double q) {
    const double at = q * static_cast<double>(figures.size() - 1);
    const auto low = static_cast<size_t>(at);
    const size_t high = std::min(low + 1, figures.size() - 1);
    return figures[low].step_ms + (at - static_cast<double>(low)) * (figures[high].step_ms - figures[low].step_ms);
  };
  out.p10_ms = quantile(0.1);
  out.p90_ms = quantile(0.9);
  return out;
}

/// One simulation with what it ran.
struct OwnRun {
  ExecGraph graph;
  Timeline timeline;
  std::vector<TaskOrigin> origins;

  ForecastRun seen() const { return {graph, timeline, origins}; }
};

/// All that the runs of one configuration have in common.
struct Runs {
  const Recovery& recovery;
  const Job& target;
  const Network& network;
  TaskTimes times;
  bool interference = true;
  bool variability = true;

  Result<OwnRun> run(uint64_t seed) const {
    LowerPlan plan = TRY(plan_step(recovery, target, network, seed));
    const Job& base = recovery.job;
    plan.gpu_tail_scale = layer_work_ratio(base, target, recovery.kernels.front());
    plan.tensor_lag_growth = lag_growth(base.tensor_model_parallel_size, target.tensor_model_parallel_size);
    plan.data_lag_growth = lag_growth(base.data_parallel_size, target.data_parallel_size);
    plan.behind_ns = &times.behind_ns;
    OwnRun out;
    out.graph = TRY(lower(recovery.program, plan, times.durations, &out.origins));
    if (!interference) {
      out.timeline = simulate(out.graph);
      return out;
    }
    const std::vector<TaskLoad> loads =
        loads_of(out.graph, out.origins, recovery.program, recovery.transfers, times, recovery.loads);
    out.timeline = simulate_with_loads(out.graph, loads, recovery.loads.interference);
    return out;
  }

 private:
  double lag_growth(int64_t before, int64_t after) const {
    if (after == 1) return 0;
    return variability ? growth_of_waits(before, after) : 1;
  }
};

/// Shows a run to who wants to look; what the traces do not have came from no row.
void show(const Runs& runs, const ForecastOptions& options, size_t seed, OwnRun& run) {
  for (TaskOrigin& origin : run.origins)
    if (origin.row != kNoIndex && origin.row >= runs.recovery.loads.rows[origin.rank].size()) origin.row = kNoIndex;
  options.look(seed, run.seen());
}

/// The figures of one run per seed.
Result<std::vector<StepFigures>> run_seeds(const Runs& runs, const ForecastOptions& options, int seeds,
                                           bool looked_at = false) {
  std::vector<StepFigures> figures(static_cast<size_t>(seeds));
  std::vector<std::optional<Error>> errors(figures.size());
  const auto run_seed = [&](size_t i) {
    Result<OwnRun> run = runs.run(options.first_seed + i);
    if (!run) {
      errors[i] = run.error();
      return;
    }
    figures[i] = mean_figures(run->graph, run->timeline);
    if (looked_at) show(runs, options, i, *run);
  };
  parallel_for(figures.size(), options.threads, run_seed, options.stop);
  if (options.stop.stop_requested()) return fail_interrupted();
  for (const std::optional<Error>& error : errors)
    if (error) return tl::unexpected<Error>(*error);
  return figures;
}

/// The run whose step is nearest to the mean, as tables.
Result<std::vector<EventTable>> usual_run(const Runs& runs, const std::vector<StepFigures>& figures, double mean_ms,
                                          uint64_t first_seed) {
  size_t nearest = 0;
  for (size_t i = 1; i < figures.size(); ++i)
    if (std::abs(figures[i].step_ms - mean_ms) < std::abs(figures[nearest].step_ms - mean_ms)) nearest = i;
  const OwnRun run = TRY(runs.run(first_seed + nearest));
  std::vector<EventTable> tables;
  for (uint32_t r = 0; r < run.graph.ranks.size(); ++r)
    tables.push_back(
        forecast_table(runs.recovery.program, run.seen(), r, static_cast<int32_t>(runs.target.world_size)));
  return tables;
}

/// The traced job, lowered again.
Result<Forecast> forecast_unchanged(const Recovery& recovery, const RetimeOptions& retiming,
                                    const ForecastOptions& options) {
  const Runs runs{recovery,
                  recovery.job,
                  recovery.network,
                  retime(recovery, recovery.job, recovery.network, retiming),
                  options.interference,
                  options.variability};
  return summarise(TRY(run_seeds(runs, options, options.seeds)));
}

/// A changed step whose simulation nobody could wait for, nor hold in memory. Tasks grow with layers and micro-batches.
Status check_num_tasks(const Recovery& recovery, const Job& target) {
  double tasks = 0;
  for (size_t r = 0; r < recovery.catalogs.size(); ++r) {
    const size_t steps = recovery.catalogs[r].steps.size() + recovery.catalogs[r].left_out.size();
    tasks +=
        static_cast<double>(recovery.program.ranks[r].tasks.size()) / static_cast<double>(std::max<size_t>(steps, 1));
  }
  tasks /= static_cast<double>(std::max<size_t>(recovery.catalogs.size(), 1));
  const auto passes = [](const Job& job) {
    return static_cast<double>(job.num_layers) * static_cast<double>(job.num_microbatches);
  };
  const Job& base = recovery.job;
  tasks *= static_cast<double>(base.pipeline_model_parallel_size) * passes(target) / passes(base);
  // What was traced could be held, too.
  if (tasks <= kMostTasks || passes(target) <= passes(base)) return {};
  return fail(ErrorKind::kUsage,
              "num_layers {} x num_microbatches {} are too many to simulate: some {:.1e} tasks a step, at most {:.0e}; "
              "lumos estimate answers about such a job",
              target.num_layers, target.num_microbatches, tasks, kMostTasks);
}

/// What a reader should know before he believes the figures.
std::vector<std::string> warnings_of(const JobForecast& forecast, bool network_given) {
  std::vector<std::string> warnings;
  const double again_ms = forecast.unchanged.mean.step_ms;
  if (std::abs(again_ms - forecast.measured_ms) > kUsualIdentityError * forecast.measured_ms) {
    warnings.push_back(fmt::format(
        "without a change the recovered program takes {:.1f} ms where {:.1f} ms were measured: predictions are as far "
        "off; see whether the job file is that of these traces, and `lumos inspect --program`",
        again_ms, forecast.measured_ms));
  }
  if (network_given) return warnings;
  // Only tiers that the predicted job uses matter.
  const Job& target = forecast.target;
  if (forecast.network.fabric.observations == 0 && target.world_size > target.gpus_per_node)
    warnings.push_back("no traced transfer leaves its node: the network between nodes is a default, not a measurement");
  if (forecast.network.node.observations == 0 && std::min(target.world_size, target.gpus_per_node) > 1)
    warnings.push_back(
        "no traced transfer stays inside its node: the network inside nodes is a default, not a measurement");
  return warnings;
}

}  // namespace

Status can_forecast(const Job& base, const Job& target) { return check_changes(base, target); }

Result<JobForecast> forecast(const Recovery& recovery, const Job& target, const ForecastOptions& options) {
  TRY_STATUS(check_changes(recovery.job, target));
  TRY_STATUS(check_num_tasks(recovery, target));
  JobForecast out;
  out.base = recovery.job;
  out.target = target;
  out.measured_ms = measured_step_ms(recovery);
  out.network = recovery.network;
  RetimeOptions retiming;
  retiming.variability = options.variability;
  out.unchanged = options.unchanged ? *options.unchanged : TRY(forecast_unchanged(recovery, retiming, options));
  const bool switches = switches_between(recovery.job, target).any();
  const Recovery switched = switches ? apply_switches(recovery, target) : Recovery{};
  const Recovery& from = switches ? switched : recovery;
  // How long replicas run between two meetings is known once the changed step is: a first run tells, without waiting
  // that grows itself.
  RetimeOptions plainly = retiming;
  plainly.variability = false;
  Runs changed{
      from, target, out.network, retime(from, target, out.network, plainly), options.interference, options.variability};
  const Forecast rough = summarise(TRY(run_seeds(changed, options, 1)));
  // Replicas that differ by chance differ as their micro-batches do; the most that one which is always slower can fall
  // behind is in proportion to the step.
  retiming.sync_period_ratio =
      std::min(micro_batch_ms(target, rough.mean.step_ms) / micro_batch_ms(recovery.job, out.unchanged.mean.step_ms),
               rough.mean.step_ms / out.unchanged.mean.step_ms);
  changed.times = retime(from, target, out.network, retiming);
  const std::vector<StepFigures> figures = TRY(run_seeds(changed, options, options.seeds, options.look != nullptr));
  out.changed = summarise(figures);
  if (options.tables) out.tables = TRY(usual_run(changed, figures, out.changed.mean.step_ms, options.first_seed));
  out.warnings = changes_without_effect(recovery.job, target);
  for (std::string& warning : left_out_steps(recovery)) out.warnings.push_back(std::move(warning));
  for (std::string& warning : warnings_of(out, options.network_given)) out.warnings.push_back(std::move(warning));
  return out;
}

}  // namespace lumos

#include "lumos/report/results/predict_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lumos/base/json_writer.h"
#include "lumos/model/cluster/known_gpus.h"
#include "lumos/model/job/job_file.h"
#include "lumos/plan/flops.h"
#include "lumos/report/figures/job_step.h"
#include "lumos/report/figures/steps.h"
#include "lumos/report/files/trace_files.h"
#include "lumos/report/text_table.h"
#include "lumos/sim/interference.h"
#include "lumos/sim/overlap.h"
#include "lumos/sim/simulate.h"
#include "lumos/whatif/gains/jitter.h"
#include "lumos/whatif/times/profiler_cost.h"

namespace lumos {

namespace {

/// The value at a share of the sorted values, between neighbours in proportion.
double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

/// Compute on the GPU that begins in a chosen step, per step, mean over the ranks.
double kernel_ms(const ExecGraph& graph, const Timeline& timeline) {
  double sum_ms = 0;
  size_t ranks = 0;
  for (const RankTasks& rank : graph.ranks) {
    const std::vector<uint32_t> chosen = chosen_steps(rank);
    if (chosen.empty()) continue;
    int64_t own_ns = 0, counted_until_ns = INT64_MIN;  // windows of steps may overlap
    for (uint32_t step : chosen) {
      const Window window = simulated_window(timeline, rank.steps[step]);
      for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
        if (!is_compute_task(graph.kind[task])) continue;
        const int64_t start_ns = timeline.start_ns[task];
        const bool counted = start_ns < counted_until_ns;
        if (!counted && start_ns >= window.start_ns && start_ns < window.end_ns) own_ns += graph.duration_ns[task];
      }
      counted_until_ns = std::max(counted_until_ns, window.end_ns);
    }
    sum_ms += static_cast<double>(own_ns) / 1e6 / static_cast<double>(chosen.size());
    ++ranks;
  }
  return ranks > 0 ? sum_ms / static_cast<double>(ranks) : 0;
}

std::vector<FamilyTime> family_times(const ExecGraph& base, const ExecGraph& changed) {
  std::map<KernelFamily, FamilyTime> times;
  for (const RankTasks& rank : base.ranks) {
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      if (!is_compute_task(base.kind[task]) || base.event[task] == kNoIndex) continue;
      FamilyTime& time = times[row_family(*rank.table, base.event[task])];
      ++time.tasks;
      time.base_ms += static_cast<double>(base.duration_ns[task]) / 1e6;
      time.predicted_ms += static_cast<double>(changed.duration_ns[task]) / 1e6;
    }
  }
  std::vector<FamilyTime> out;
  for (auto& [family, time] : times) {
    time.family = family;
    out.push_back(time);
  }
  return out;
}

double change_percent(double from, double to) { return from > 0 ? 100 * (to - from) / from : 0; }

/// The step without the profiler's bookkeeping: `step_ms` in the proportion in which the pace of the graph changes.
double unprofiled_ms(ExecGraph graph, const std::vector<int64_t>& profiler, double step_ms) {
  const StepPace pace(graph);
  const double with_ms = pace.ms(simulate(graph));
  for (uint32_t task = 0; task < graph.size(); ++task) {
    graph.duration_ns[task] = std::max<int64_t>(0, graph.duration_ns[task] - profiler[task]);
  }
  return with_ms > 0 ? step_ms * pace.ms(simulate(graph)) / with_ms : step_ms;
}

JitterResult jitter_result(const ExecGraph& graph, const PredictOptions& options) {
  JitterOptions jitter;
  jitter.samples = options.samples;
  jitter.seed = options.seed;
  jitter.threads = options.threads;
  jitter.stop = options.stop;
  const Spread spread = options.spread ? *options.spread : uniform_spread(graph, options.jitter_sigma);
  const auto step_ns = [&](const Timeline& run) { return 1e6 * simulated_step_ms(graph, run); };
  const std::vector<double> steps = jittered_steps_ns(graph, step_ns, spread, jitter);
  JitterResult result;
  result.fitted = options.spread.has_value();
  result.sigma = spread.kernel_sigma;
  result.link_sigma = spread.link_sigma;
  result.rank_sigma = spread.rank_sigma;
  result.samples = steps.size();
  result.seed = options.seed;
  for (double step : steps) result.mean_ms += step / 1e6 / static_cast<double>(steps.size());
  result.p50_ms = quantile(steps, 0.5) / 1e6;
  result.p95_ms = quantile(steps, 0.95) / 1e6;
  return result;
}

// Steps overlap where the host runs ahead. A little of it every job has: the last kernels of a step end beside the
// next.
constexpr double kNotableOverlap = 0.02;

bool overlap(double pace_ms, double step_ms) { return pace_ms < (1 - kNotableOverlap) * step_ms; }

/// Where the host runs ahead of the GPU the windows of the steps overlap: a host that is faster still begins them
/// earlier, and they get longer though the run gets shorter. Then the step changes as the pace does, from the end of
/// one step to the end of the next, and what was read from the windows is scaled to that.
void count_overlap_once(PredictResult& result) {
  if (!overlap(result.predicted_run_ms, result.predicted_ms) && !overlap(result.base_run_ms, result.base_ms)) return;
  if (result.base_run_ms <= 0 || result.predicted_ms <= 0) return;
  const double ratio = result.base_ms * result.predicted_run_ms / result.base_run_ms / result.predicted_ms;
  for (double* ms : {&result.predicted_ms, &result.p10_ms, &result.p90_ms, &result.breakdown.exposed_compute,
                     &result.breakdown.overlapped, &result.breakdown.exposed_comm, &result.breakdown.other,
                     &result.jitter.mean_ms, &result.jitter.p50_ms, &result.jitter.p95_ms}) {
    *ms *= ratio;
  }
  result.warnings.push_back(
      fmt::format("steps overlap, because the host runs ahead of the GPU: from the end of one step to the end of the "
                  "next it is {} ms now, {} ms predicted, and the step and its parts change as that does",
                  human_ms(result.base_run_ms), human_ms(result.predicted_run_ms)));
}

}  // namespace

PredictResult predict_result(const ExecGraph& base, ExecGraph changed, const PredictOptions& options) {
  PredictResult result;
  ReplayResultOptions reading;
  reading.threads = options.threads;
  const Timeline base_timeline = simulate(base);
  const ReplayResult before = replay_result(base, base_timeline, reading);
  const Interference interference = fit_interference(base, base_timeline);
  const Timeline timeline = simulate_with_interference(base, base_timeline, changed, interference);
  const ReplayResult after = replay_result(changed, timeline, reading);
  result.measured_ms = before.measured_ms;
  result.base_ms = before.replayed_ms;
  result.base = before.replayed;
  result.predicted_ms = after.replayed_ms;
  result.breakdown = after.replayed;
  const std::vector<double> steps = simulated_steps_ms(changed, timeline);
  result.p10_ms = quantile(steps, 0.1);
  result.p90_ms = quantile(steps, 0.9);
  result.families = family_times(base, changed);
  result.base_kernel_ms = kernel_ms(base, base_timeline);
  result.kernel_ms = kernel_ms(changed, timeline);
  result.work = work_use(changed, timeline, work_source(changed, nullptr, options.threads));
  result.curves = rank_curves(changed, timeline);
  const StepPace pace(base);  // of both: what was launched when does not change
  result.base_run_ms = pace.ms(base_timeline);
  result.predicted_run_ms = pace.ms(timeline);
  if (options.jitters()) result.jitter = jitter_result(changed, options);
  count_overlap_once(result);
  const std::vector<int64_t> profiler = profiler_ns(base, options.threads);
  result.base_unprofiled_ms = unprofiled_ms(base, profiler, result.base_ms);
  result.predicted_unprofiled_ms = unprofiled_ms(changed, profiler, result.predicted_ms);
  return result;
}

Result<std::vector<std::string>> write_predicted_trace(const ExecGraph& base, ExecGraph changed,
                                                       const std::string& path) {
  const Timeline base_timeline = simulate(base);
  const Timeline timeline =
      simulate_with_interference(base, base_timeline, changed, fit_interference(base, base_timeline));
  return write_replayed_trace(changed, timeline, path);
}

JobFigures job_figures(const Job& job, double step_ms, std::string_view device) {
  JobFigures figures;
  figures.job = job;
  if (step_ms <= 0) return figures;
  figures.tokens_per_s = tokens_per_step(job) / (step_ms / 1e3);
  figures.tflops_per_gpu = tflops_per_gpu(job, step_ms);
  if (const std::optional<Gpu> gpu = known_gpu(device)) {
    figures.mfu_pct = mfu_pct(job, step_ms, *gpu);
  }
  return figures;
}

std::string predict_text(const PredictResult& result) {
  TextTable table({{"", Align::kLeft}, {"now ms"}, {"predicted ms"}, {"change"}});
  auto row = [&](std::string name, double before, double after) {
    table.add({std::move(name), human_ms(before), human_ms(after), signed_percent(change_percent(before, after))});
  };
  row("step", result.base_ms, result.predicted_ms);
  row("  exposed compute", result.base.exposed_compute, result.breakdown.exposed_compute);
  row("  overlapped", result.base.overlapped, result.breakdown.overlapped);
  row("  exposed communication", result.base.exposed_comm, result.breakdown.exposed_comm);
  row("  other", result.base.other, result.breakdown.other);
  if (!result.job) row("kernels and copies", result.base_kernel_ms, result.kernel_ms);
  std::string out = table.text();
  out += fmt::format("\n  measured {} ms; predicted steps from {} to {} ms (p10, p90)\n", human_ms(result.measured_ms),
                     human_ms(result.p10_ms), human_ms(result.p90_ms));
  if (!result.job) {
    out += fmt::format("  without the profiler: {} ms now, {} ms predicted\n", human_ms(result.base_unprofiled_ms),
                       human_ms(result.predicted_unprofiled_ms));
  }
  if (result.jitter.samples > 0) {
    const std::string spread =
        result.jitter.fitted
            ? fmt::format("as traced: kernels {:.3g} %, transfers {:.3g} %, ranks from step to step {:.3g} %",
                          100 * result.jitter.sigma, 100 * result.jitter.link_sigma, 100 * result.jitter.rank_sigma)
            : fmt::format("by {:.3g} %", 100 * result.jitter.sigma);
    out += fmt::format("  times vary {}\n  p50 {} ms, p95 {} ms, mean {} ms over {} samples\n", spread,
                       human_ms(result.jitter.p50_ms), human_ms(result.jitter.p95_ms), human_ms(result.jitter.mean_ms),
                       result.jitter.samples);
  }
  if (result.job) {
    const Job& job = result.job->job;
    out += fmt::format("  {} GPUs: tensor {}, pipeline {}, data {}; {} micro-batches, global batch {}\n",
                       job.world_size, job.tensor_model_parallel_size, job.pipeline_model_parallel_size,
                       job.data_parallel_size, job.num_microbatches, job.global_batch_size);
    out +=
        fmt::format("  {:.0f} tokens/s, {:.1f} TFLOP/s per GPU", result.job->tokens_per_s, result.job->tflops_per_gpu);
    if (result.job->mfu_pct) out += fmt::format(" ({:.1f} % of the peak)", *result.job->mfu_pct);
    out += "\n";
    for (const AppliedChange& change : result.changes) out += fmt::format("  set {}\n", change.text);
  }
  for (const AppliedChange& change : result.changes) {
    if (result.job) break;
    out += fmt::format("  {}: {} tasks, {} ms in the traces\n", change.text, change.tasks, human_ms(change.time_ms));
    for (const std::string& note : change.notes) out += fmt::format("    {}\n", note);
  }
  for (const std::string& warning : result.warnings) out += fmt::format("  warning: {}\n", warning);
  return out;
}

std::string predict_json(const PredictResult& result) {
  JsonWriter json;
  json.begin_object().member("schema", "lumos.predict.v1");
  json.key("base").begin_object().member("step_ms", result.base_ms);
  json.member("measured_ms", result.measured_ms);
  if (!result.job) {
    json.member("kernel_ms", result.base_kernel_ms);
    json.member("unprofiled_ms", result.base_unprofiled_ms).member("run_ms", result.base_run_ms);
  }
  json.end_object();
  json.key("predicted").begin_object().member("step_ms", result.predicted_ms);
  json.member("p10_ms", result.p10_ms).member("p90_ms", result.p90_ms).key("breakdown").begin_object();
  json.member("exposed_compute_ms", result.breakdown.exposed_compute)
      .member("overlapped_ms", result.breakdown.overlapped);
  json.member("exposed_comm_ms", result.breakdown.exposed_comm).member("other_ms", result.breakdown.other).end_object();
  json.member("kernel_ms", result.kernel_ms);
  if (result.job) {
    json.member("tokens_per_s", result.job->tokens_per_s).member("tflops_per_gpu", result.job->tflops_per_gpu);
    json.key("mfu_pct");
    if (result.job->mfu_pct)
      json.value(*result.job->mfu_pct);
    else
      json.null();
  } else {
    json.member("unprofiled_ms", result.predicted_unprofiled_ms).member("run_ms", result.predicted_run_ms);
  }
  write_work_use(json.key("work"), result.work);
  write_rank_curves(json.key("utilisation"), result.curves);
  json.end_object();
  if (result.job) write_job(json.key("job"), result.job->job);
  if (!result.families.empty()) {
    json.key("families").begin_array();
    for (const FamilyTime& time : result.families) {
      json.begin_object().member("family", family_name(time.family)).member("tasks", time.tasks);
      json.member("base_ms", time.base_ms).member("predicted_ms", time.predicted_ms).end_object();
    }
    json.end_array();
  }
  if (result.jitter.samples > 0) {
    json.key("jitter").begin_object().member("fitted", result.jitter.fitted).member("sigma", result.jitter.sigma);
    json.member("link_sigma", result.jitter.link_sigma).member("rank_sigma", result.jitter.rank_sigma);
    json.member("samples", result.jitter.samples);
    json.member("seed", result.jitter.seed).member("mean_ms", result.jitter.mean_ms);
    json.member("p50_ms", result.jitter.p50_ms).member("p95_ms", result.jitter.p95_ms).end_object();
  }
  json.key("changes").begin_array();
  for (const AppliedChange& change : result.changes) {
    json.begin_object().member("change", change.text).member("tasks", change.tasks);
    json.member("time_ms", change.time_ms).key("notes").begin_array();
    for (const std::string& note : change.notes) json.value(note);
    json.end_array().end_object();
  }
  json.end_array().key("warnings").begin_array();
  for (const std::string& warning : result.warnings) json.value(warning);
  json.end_array().end_object();
  return json.text();
}

}  // namespace lumos

#include "lumos/cli/commands/predict_job.h"

#include <algorithm>
#include <utility>

#include "lumos/cli/arguments/config_file.h"
#include "lumos/cli/arguments/job_arguments.h"
#include "lumos/cli/commands/traced_job.h"
#include "lumos/graph/job/job.h"
#include "lumos/model/job/job_fields.h"
#include "lumos/model/job/job_file.h"
#include "lumos/program/predict.h"
#include "lumos/report/files/trace_files.h"
#include "lumos/trace/sets/ignore.h"
#include "lumos/whatif/gains/host_layers.h"

namespace lumos {

namespace {

constexpr int64_t kMostSeeds = 10'000;  // The spread of the mean is then a hundredth of that of a step.

BreakdownMs breakdown_of(const StepFigures& figures) {
  BreakdownMs breakdown;
  breakdown.exposed_compute = figures.exposed_compute_ms;
  breakdown.overlapped = figures.overlapped_ms;
  breakdown.exposed_comm = figures.exposed_comm_ms;
  breakdown.other = figures.other_ms;
  return breakdown;
}

bool has_gpu_work(const EventTable& table) {
  return std::any_of(table.kind.begin(), table.kind.end(), [](EventKind kind) { return is_gpu_work(kind); });
}

/// Traces of CPUs alone: there is no program of kernels to recover, and of the job only the layers can change.
Result<PredictResult> predict_on_cpus(std::vector<EventTable> tables, const Job& base, const Job& target,
                                      const std::vector<JobSetting>& settings, int threads,
                                      const std::stop_token& stop) {
  for (const auto& [name, value] : settings) {
    if (name != "num_layers") {
      return fail(ErrorKind::kUsage, "--set {}: of a job that was traced on CPUs alone, only num_layers can change",
                  name);
    }
  }
  JobOptions options;
  options.read.threads = threads;
  options.read.stop = stop;
  const LinkedJob job = link_job(std::move(tables), options);
  if (stop.stop_requested()) return fail_interrupted();
  ExecGraph changed = TRY(with_layers(job, base.num_layers, target.num_layers));
  PredictOptions predict;
  predict.threads = threads;
  return predict_result(job.linked.graph, std::move(changed), predict);
}

/// What is wrong with the request whatever the traces say: long reading should not come first.
Status check_request(const JobChange& change, const std::vector<JobSetting>& settings) {
  if (change.seeds < 1 || change.seeds > kMostSeeds)
    return fail(ErrorKind::kUsage, "predict: --seeds {}: from 1 to {}", change.seeds, kMostSeeds);
  for (const auto& [name, value] : settings) {
    if (is_job_setting(name)) continue;
    return fail(ErrorKind::kUsage, "--set {}: a number of the cluster, which --cluster alone says here", name);
  }
  // Traces may complete a file that does not resolve alone; one that does must allow the change.
  const Result<JobFile> alone = read_job_file(change.job_file);
  if (!alone && alone.error().kind != ErrorKind::kUsage) return tl::unexpected<Error>(alone.error());
  if (alone) TRY(change_job(alone->job, settings));
  return {};
}

/// Settings that leave the job as it was, because it was so or because something else decides.
std::vector<std::string> idle_settings(const Job& base, const Job& target, const std::vector<JobSetting>& settings) {
  std::vector<std::string> idle;
  for (const auto& [name, value] : settings) {
    const JobField* found = find_job_field(name);
    if (found == nullptr) continue;  // Megatron's other name for one that speaks for itself
    const JobField& field = *found;
    const std::string before = job_field_text(base, field), after = job_field_text(target, field);
    Job asked = target;
    if (before != after || !set_job_field(asked, field, value == "null" ? "" : value)) continue;
    if (job_field_text(asked, field) == before)
      idle.push_back(fmt::format("--set {}={} changes nothing: the traced job has it", name, value));
    else
      idle.push_back(fmt::format("--set {}={} changes nothing: what else the job has keeps it at {}", name, value,
                                 after.empty() ? "none" : after));
  }
  return idle;
}

}  // namespace

Result<PredictResult> predict_job(const ReadArguments& read, const JobChange& change, Console& console) {
  const std::vector<JobSetting> settings = TRY(read_settings(change.settings));
  TRY_STATUS(check_request(change, settings));

  const IgnoredMetadata ignored = TRY(parse_ignored(change.ignore));
  TraceSet set = TRY(read_for(read, console));
  for (EventTable& table : set.tables) ignore_metadata(table, ignored);
  JobFile base = TRY(read_traced_job(change.job_file, set.tables, static_cast<int>(read.threads)));
  const Job target = TRY(change_job(base.job, settings));
  for (std::string& warning : idle_settings(base.job, target, settings)) base.warnings.push_back(std::move(warning));
  for (std::string& warning : kept_sizes(base.job, target, settings)) base.warnings.push_back(std::move(warning));
  const int threads = static_cast<int>(read.threads);
  if (std::none_of(set.tables.begin(), set.tables.end(), has_gpu_work)) {
    PredictResult result =
        TRY(predict_on_cpus(std::move(set.tables), base.job, target, settings, threads, console.stop));
    for (const std::string& text : change.settings) result.changes.push_back({text, 0, 0, {}});
    result.warnings = base.warnings;
    result.job = job_figures(target, result.predicted_ms, "");
    return result;
  }
  const Network network = change.cluster.empty()
                              ? default_network()
                              : network_of(TRY(read_cluster_file(TRY(find_config("clusters", change.cluster)))));
  const Recovery recovery = TRY(recover_tables(std::move(set.tables), base.job, network, threads, console.stop));
  ForecastOptions options;
  options.network_given = !change.cluster.empty();
  options.stop = console.stop;
  options.seeds = static_cast<int>(change.seeds);
  options.threads = threads;
  options.variability = !change.plain;
  options.interference = !change.plain;
  options.tables = !change.out.empty();
  // Seeds draw from other replicas: what the GPUs do is a mean over all of them, too.
  const WorkSource source = work_source(recovery);
  std::vector<WorkUse> works(static_cast<size_t>(options.seeds));
  std::vector<std::vector<RankCurve>> curves(works.size());
  options.look = [&](size_t seed, const ForecastRun& run) {
    works[seed] = work_use(run.graph, run.timeline, source, run.origins);
    curves[seed] = rank_curves(run.graph, run.timeline);
  };
  JobForecast forecast = TRY(lumos::forecast(recovery, target, options));
  if (!change.out.empty())
    TRY(write_trace_files(
        forecast.tables.size(), [&](size_t r) { return measured_rank_trace(std::move(forecast.tables[r])); },
        change.out));

  PredictResult result;
  result.measured_ms = forecast.measured_ms;
  result.base_ms = forecast.unchanged.mean.step_ms;
  result.base = breakdown_of(forecast.unchanged.mean);
  result.predicted_ms = forecast.changed.mean.step_ms;
  result.p10_ms = forecast.changed.p10_ms;
  result.p90_ms = forecast.changed.p90_ms;
  result.breakdown = breakdown_of(forecast.changed.mean);
  result.kernel_ms = forecast.changed.mean.kernel_ms;
  for (const std::string& text : change.settings) result.changes.push_back({text, 0, 0, {}});
  result.warnings = base.warnings;
  result.warnings.insert(result.warnings.end(), forecast.warnings.begin(), forecast.warnings.end());
  const auto& devices = recovery.program.ranks.front().table->info.devices;
  result.job = job_figures(target, result.predicted_ms, devices.empty() ? std::string_view{} : devices.front().name);
  result.work = mean_work(works);
  result.curves = mean_curves(curves);
  return result;
}

}  // namespace lumos

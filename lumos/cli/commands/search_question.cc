#include "lumos/cli/commands/search_question.h"

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "lumos/base/csv.h"
#include "lumos/base/toml.h"
#include "lumos/cli/arguments/config_file.h"
#include "lumos/cli/commands/traced_job.h"
#include "lumos/model/cluster/known_gpus.h"
#include "lumos/program/predict.h"
#include "lumos/program/synth/synthetic_job.h"
#include "lumos/search/configuration.h"

namespace lumos {

namespace {

/// Settings that every answer shows; those that a space or a table varies besides come after them.
std::vector<std::string> shown_settings(const std::vector<std::string>& varied) {
  std::vector<std::string> names = {"world_size",
                                    "tensor_model_parallel_size",
                                    "pipeline_model_parallel_size",
                                    "virtual_pipeline_model_parallel_size",
                                    "data_parallel_size",
                                    "micro_batch_size",
                                    "num_microbatches",
                                    "global_batch_size",
                                    "recompute_granularity",
                                    "sequence_parallel",
                                    "use_distributed_optimizer"};
  for (const std::string& name : varied) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

Status fill_from_space(const QuestionArguments& arguments, const Job& base, SearchQuestion& question) {
  SearchSpace space;
  if (!arguments.space.empty()) {
    const Value value = TRY(read_value_file(arguments.space));
    space = TRY(space_from_value(ValueView(value, arguments.space)));
  }
  const bool sized = std::any_of(space.axes.begin(), space.axes.end(),
                                 [](const SearchAxis& axis) { return axis.name == "world_size"; });
  if (sized && arguments.gpus > 0)
    return fail(ErrorKind::kUsage, "--gpus {} and the world_size of {} both say how many GPUs: leave one out",
                arguments.gpus, arguments.space);
  space.samples_per_gpu = arguments.samples_per_gpu;
  const Cluster& cluster = question.anchor.cluster;
  space = TRY(complete_space(std::move(space), base, cluster, arguments.gpus));
  question.enumeration = TRY(enumerate_space(space, base, cluster));
  std::vector<std::string> varied;
  for (const SearchAxis& axis : space.axes) varied.push_back(axis.name);
  question.names = shown_settings(varied);
  question.base = base;
  return {};
}

Status fill_from_table(const QuestionArguments& arguments, const CommonJob& common, SearchQuestion& question,
                       Console& console) {
  const CsvTable table = TRY(read_csv_file(arguments.configs));
  TRY_STATUS(check_columns(table, {}));
  if (table.rows.empty()) return fail(ErrorKind::kUsage, "{}: no configuration below the header", arguments.configs);
  for (const std::string& column : unread_columns(table)) console.note("not read: column " + column);
  const Cluster& cluster = question.anchor.cluster;
  const int64_t available = cluster.num_nodes * cluster.gpus_per_node;
  question.names = shown_settings({});
  Enumeration& found = question.enumeration;
  found.combinations = table.rows.size();
  std::unordered_set<std::string> seen;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const Result<MeasuredRun> run = measured_run(table, row, common);
    const bool too_large = run && available > 0 && run->job.world_size > available;
    if (!run || too_large) {
      ++found.illegal;
      const std::string why =
          run ? fmt::format("{}:{}: more GPUs than the cluster has", table.source, run->line) : run.error().message;
      console.note("left out: " + why);
      if (found.example.empty()) found.example = why;
    } else if (!seen.insert(config_id(run->job, "")).second) {
      ++found.repeated;
    } else {
      found.jobs.push_back(run->job);
      question.lines.push_back(run->line);
    }
  }
  return {};
}

/// Leaves out jobs that the traces say nothing about.
void keep_predictable(const Job& base, SearchQuestion& question, Console& console) {
  Enumeration& found = question.enumeration;
  std::vector<Job> kept;
  std::vector<uint32_t> lines;
  std::string example;
  for (size_t i = 0; i < found.jobs.size(); ++i) {
    const Status possible = can_forecast(base, found.jobs[i]);
    if (possible) {
      kept.push_back(std::move(found.jobs[i]));
      if (!question.lines.empty()) lines.push_back(question.lines[i]);
    } else if (example.empty()) {
      example = possible.error().message;
    }
  }
  const size_t dropped = found.jobs.size() - kept.size();
  if (dropped > 0)
    console.note(fmt::format("{} combinations cannot be predicted from these traces, such as {}", dropped, example));
  found.illegal += dropped;
  if (found.example.empty()) found.example = example;
  found.jobs = std::move(kept);
  question.lines = std::move(lines);
}

/// The cluster of --cluster, or the one that comes with Lumos for the traced GPU.
Result<Cluster> cluster_of_traces(const JobArguments& arguments, const SplitSettings& settings,
                                  const EventTable& table) {
  if (!arguments.cluster.empty()) return read_cluster(arguments, settings);
  const std::string device = table.info.devices.empty() ? "" : table.info.devices.front().name;
  JobArguments named = arguments;
  named.cluster = std::string(known_cluster(device));
  if (named.cluster.empty()) {
    return fail(ErrorKind::kUsage, "{}; name the machine with --cluster",
                device.empty() ? "the traces do not say which GPU they are from"
                               : fmt::format("no cluster comes with Lumos for the traced GPU, {}", device));
  }
  Result<Cluster> found = read_cluster(named, settings);
  if (found) return found;
  return fail(found.error().kind, "without --cluster the machine is taken to be {}, for the traced GPU is {}; {}",
              named.cluster, device, found.error().message);
}

Result<SearchQuestion> question_of_traces(const QuestionArguments& arguments, const SplitSettings& settings,
                                          Console& console) {
  if (arguments.common.job.empty()) {
    return fail(ErrorKind::kUsage, "traces need --job FILE: the job that was traced");
  }
  TraceSet set = TRY(read_for(arguments.read, console));
  // --set changes what is searched from; the file says what was traced.
  const JobFile file = TRY(read_traced_job(TRY(find_config("jobs", arguments.common.job)), set.tables,
                                           static_cast<int>(arguments.read.threads)));
  const Job asked = TRY(change_job(file.job, settings.job));
  for (const std::string& warning : file.warnings) console.note(warning);
  const Cluster cluster = TRY(cluster_of_traces(arguments.common, settings, set.tables.front()));
  const Network network = arguments.common.cluster.empty() ? default_network() : network_of(cluster);
  ForecastOptions options;
  options.threads = static_cast<int>(arguments.read.threads);
  options.stop = console.stop;
  auto recovery = std::make_shared<const Recovery>(
      TRY(recover_tables(std::move(set.tables), file.job, network, options.threads, console.stop)));
  const JobForecast unchanged = TRY(forecast(*recovery, file.job, options));
  SearchQuestion question;
  question.anchor = TRY(make_anchor(*recovery, cluster, unchanged.unchanged.mean.step_ms));
  question.base_ms = unchanged.measured_ms;
  if (arguments.configs.empty()) {
    TRY_STATUS(fill_from_space(arguments, asked, question));
  } else {
    TRY_STATUS(fill_from_table(arguments, TRY(read_common_job(arguments.common, settings)), question, console));
  }
  for (const std::string& warning : unchanged.warnings) console.note(warning);
  question.base = file.job;
  keep_predictable(file.job, question, console);
  options.unchanged = unchanged.unchanged;
  question.simulate = [recovery, options](const Job& job) -> Result<StepFigures> {
    return TRY(forecast(*recovery, job, options)).changed.mean;
  };
  return question;
}

/// One step of the job as `lumos synth` would write it.
Result<StepFigures> simulate_synthesized(const Job& job, const Cluster& cluster) {
  SyntheticOptions options;
  options.steps = 1;
  options.ranks = ranks_of_stages(job);
  const SyntheticJob made = TRY(simulate_job(job, cluster, options));
  return mean_figures(made.graph, made.timeline);
}

Result<SearchQuestion> question_of_cluster(const QuestionArguments& arguments, const SplitSettings& settings,
                                           Console& console) {
  if (arguments.common.cluster.empty()) {
    return fail(ErrorKind::kUsage, "search needs --cluster, or the traces of a job");
  }
  SearchQuestion question;
  question.anchor.cluster = TRY(read_cluster(arguments.common, settings));
  question.simulate = [cluster = question.anchor.cluster](const Job& job) {
    return simulate_synthesized(job, cluster);
  };
  if (!arguments.configs.empty()) {
    TRY_STATUS(fill_from_table(arguments, TRY(read_common_job(arguments.common, settings)), question, console));
    return question;
  }
  if (arguments.common.job.empty()) return fail(ErrorKind::kUsage, "search needs --job FILE or --configs FILE.csv");
  const Job job = TRY(read_job(arguments.common, settings, console));
  TRY_STATUS(fill_from_space(arguments, job, question));
  return question;
}

}  // namespace

Result<SearchQuestion> read_question(const QuestionArguments& arguments, Console& console) {
  if (!arguments.configs.empty() && (arguments.gpus > 0 || !arguments.space.empty() || arguments.samples_per_gpu > 0)) {
    return fail(ErrorKind::kUsage,
                "--configs lists the configurations; --gpus, --space and --samples-per-gpu do not go with it");
  }
  const SplitSettings settings = TRY(split_settings(arguments.common.settings));
  return arguments.read.paths.empty() ? question_of_cluster(arguments, settings, console)
                                      : question_of_traces(arguments, settings, console);
}

}  // namespace lumos

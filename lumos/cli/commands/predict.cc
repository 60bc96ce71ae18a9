#include "lumos/cli/commands/predict.h"

#include <limits>
#include <memory>
#include <utility>

#include "lumos/cli/arguments/change_arguments.h"
#include "lumos/cli/arguments/config_file.h"
#include "lumos/cli/arguments/predict_changes.h"
#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/cli/commands/predict_job.h"
#include "lumos/cli/schemas/predict_schema.h"
#include "lumos/report/files/trace_files.h"
#include "lumos/report/results/predict_result.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

constexpr int64_t kNotGiven = std::numeric_limits<int64_t>::min();

struct PredictArguments {
  ReadArguments read;
  ChangeArguments changes;
  JobChange change;
  std::string jitter_text;
  int64_t seeds = kNotGiven, samples = kNotGiven, seed = kNotGiven;
  bool json = false;
};

/// Options that belong to another one, which is not there, would do nothing in silence.
Status check_options_have_effect(const PredictArguments& arguments) {
  const ChangeArguments& changes = arguments.changes;
  const bool job = !arguments.change.job_file.empty(), jitter = !arguments.jitter_text.empty();
  // A file of changes may hold what these belong to.
  const bool file = !changes.file.empty();
  struct Rule {
    bool given;
    bool used;
    const char* option;
    const char* owner;
  };
  const Rule rules[] = {
      {!arguments.change.ignore.empty(), job, "--ignore", "--job"},
      {arguments.change.plain, job, "--plain", "--job"},
      {arguments.seeds != kNotGiven, job, "--seeds", "--job"},
      {arguments.samples != kNotGiven, jitter, "--samples", "--jitter"},
      {arguments.seed != kNotGiven, jitter, "--seed", "--jitter"},
      {changes.gpus_per_node != 0, file || !changes.bandwidth.empty() || !changes.latency.empty(), "--gpus-per-node",
       "--bandwidth or --latency"},
      {changes.batch_size != 0, file || !changes.scale_batch.empty(), "--batch-size", "--scale-batch"},
      {!changes.from_cluster.empty(), job || file || !changes.cluster.empty(), "--from-cluster", "--cluster or --job"},
  };
  for (const Rule& rule : rules)
    if (rule.given && !rule.used) return fail(ErrorKind::kUsage, "predict: {} goes with {}", rule.option, rule.owner);
  return {};
}

/// A changed job asks the cluster file for the network that its traces do not show; it does not move there.
void take_network_file(PredictArguments& arguments) {
  ChangeArguments& changes = arguments.changes;
  if (!changes.cluster.empty()) arguments.change.cluster = changes.cluster.back();
  if (!changes.from_cluster.empty()) arguments.change.cluster = changes.from_cluster;
  changes.cluster.clear();
  changes.from_cluster.clear();
}

Status run(PredictArguments arguments, Console& console) {
  if (!arguments.change.out.empty()) TRY_STATUS(check_trace_name("--out", arguments.change.out));
  JobChange& change = arguments.change;
  TRY_STATUS(check_options_have_effect(arguments));
  if (!change.job_file.empty()) {
    change.job_file = TRY(find_config("jobs", change.job_file));
    take_network_file(arguments);
  }
  if (arguments.seeds != kNotGiven) change.seeds = arguments.seeds;
  const ChangeList changes = TRY(change_list(arguments.changes));
  JitterArguments jitter;
  if (arguments.samples != kNotGiven) jitter.samples = arguments.samples;
  if (arguments.seed != kNotGiven) jitter.seed = arguments.seed;
  jitter.threads = arguments.read.threads;
  TRY_STATUS(set_jitter(jitter, arguments.jitter_text));
  PredictOptions options = TRY(predict_options(jitter));
  options.stop = console.stop;
  if (!arguments.change.job_file.empty()) {
    if (!changes.empty() || options.jitters())
      return fail(ErrorKind::kUsage, "predict: {} and --job answer different questions; give one of them",
                  changes.scales.empty() ? "changes of the graph" : "--scale");
    const PredictResult result = TRY(predict_job(arguments.read, arguments.change, console));
    console.print(arguments.json ? predict_json(result) + "\n" : fold_lines(predict_text(result)));
    return {};
  }
  if (!arguments.change.settings.empty())
    return fail(ErrorKind::kUsage, "predict: --set changes a job; name the traced one with --job FILE");
  TRY_STATUS(check_something_changes(changes, options));
  const LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  TRY_STATUS(check_something_ran(job));
  if (!arguments.change.out.empty()) {
    const ScaledGraph changed = TRY(apply_changes(job, changes));
    TRY(write_predicted_trace(job.linked.graph, changed.graph, arguments.change.out));
  }
  const PredictResult result = TRY(predict_changes(job, changes, options));
  if (console.stop.stop_requested()) return fail_interrupted();
  console.print(arguments.json ? predict_json(result) + "\n" : fold_lines(predict_text(result)));
  return {};
}

}  // namespace

Command predict_command() {
  auto arguments = std::make_shared<PredictArguments>();
  Command command;
  command.name = "predict";
  command.summary = "Predict the step of a job with something changed";
  command.description =
      "Simulates the job again with parts of it made faster or slower, or taken out. All changes combine: scales "
      "first, then the others in the order of the list below. A selector is comm:REGEX (transfers, by kind or group; "
      "waiting follows by itself), group:REGEX, kernel:REGEX (GPU work that is no communication), op:REGEX "
      "(the kernels of an operator), op-cpu:REGEX (its CPU time), host (all CPU time but the profiler's own) or "
      "rank:N. Expressions match the whole name. With --job, the traced program is recovered, changed as --set says "
      "(Megatron's argument names, data_parallel_size and num_microbatches), and lowered again; a cluster file then "
      "tells "
      "the network where the traces do not show it.";
  command.example = "lumos predict traces/ --scale comm:.*=0.5 --scale host=0.8";
  command.schema = {"lumos.predict.v1", kPredictSchema};
  command.options = {
      {"--job",
       "FILE",
       "The traced job, TOML or JSON with Megatron's argument names",
       &arguments->change.job_file,
       false,
       {},
       Completion::kFile},
      {"--set", "NAME=VALUE", "Change one setting of the job; may be repeated", &arguments->change.settings},
      {"--ignore", "WHAT,WHAT", "With --job: do without shapes, collectives (their metadata) or annotations",
       &arguments->change.ignore},
      {"--out",
       "FILE.json.gz",
       "Write the predicted step as a trace for Perfetto; one file per rank, FILE-rankN, if there are several",
       &arguments->change.out,
       false,
       {},
       Completion::kFile},
      {"--seeds", "N", "With --job: simulations to average over, 8 by default", &arguments->seeds},
      {"--plain", "", "With --job: leave out how waiting grows with more members, for comparison",
       &arguments->change.plain},
      {"--jitter", "SIGMA|fitted", "Let times vary by chance, 0.05 for 5 %, or as in the trace, and show p50 and p95",
       &arguments->jitter_text},
      {"--samples", "N", "Of the jitter, 100 by default", &arguments->samples},
      {"--seed", "N", "Of the jitter, 1 by default", &arguments->seed},
      {"--json", "", "Print one JSON object instead of text", &arguments->json},
  };
  add_change_options(command, arguments->changes);
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

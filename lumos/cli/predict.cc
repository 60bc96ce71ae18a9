#include "lumos/cli/predict.h"

#include <charconv>
#include <memory>
#include <utility>

#include "lumos/cli/change_arguments.h"
#include "lumos/cli/predict_job.h"
#include "lumos/cli/predict_schema.h"
#include "lumos/cli/read_arguments.h"
#include "lumos/report/predict_result.h"
#include "lumos/whatif/change.h"

namespace lumos {

namespace {

struct PredictArguments {
  ReadArguments read;
  ChangeArguments changes;
  JobChange change;
  std::string jitter;
  int64_t samples = 100;
  int64_t seed = 1;
  bool json = false;
};

/// What the traces cannot show, said beside the number.
std::vector<std::string> warnings_of(const LinkedJob& job) {
  std::vector<std::string> warnings;
  const MatchCounts& counts = job.matches.counts;
  if (counts.refused > 0) {
    warnings.push_back(
        fmt::format("{} communication kernels look matched by order but their ends disagree; they are "
                    "not linked",
                    counts.refused));
  }
  if (counts.alone > 0) {
    warnings.push_back(
        fmt::format("{} of {} communication kernels have members that are not traced; how long these "
                    "are waited for follows the compute of the ranks that are",
                    counts.alone, counts.kernels));
  }
  return warnings;
}

constexpr int64_t kMostSamples = 100'000;  // minutes even for a small job; more is a slip of the keyboard

/// "fitted", or a standard deviation.
Result<Spread> spread_of(const std::string& text, const LinkedJob& job) {
  if (text == "fitted") return fit_spread(job);
  double sigma = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sigma);
  if (error != std::errc() || end != text.data() + text.size() || !(sigma > 0 && sigma <= 1)) {
    return fail(ErrorKind::kUsage, "--jitter must be fitted, or from 0 to 1, as in 0.05 for 5 %");
  }
  return uniform_spread(job.linked.graph, sigma);
}

Result<PredictOptions> predict_options(const PredictArguments& arguments, const LinkedJob& job) {
  if (arguments.samples < 1 || arguments.samples > kMostSamples) {
    return fail(ErrorKind::kUsage, "--samples must be from 1 to {}", kMostSamples);
  }
  PredictOptions options;
  if (!arguments.jitter.empty()) options.spread = TRY(spread_of(arguments.jitter, job));
  options.fitted = arguments.jitter == "fitted";
  options.samples = static_cast<uint32_t>(arguments.samples);
  options.seed = static_cast<uint64_t>(arguments.seed);
  options.threads = static_cast<int>(arguments.read.threads);
  return options;
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
  if (!arguments.change.job_file.empty()) take_network_file(arguments);
  const ChangeList changes = TRY(change_list(arguments.changes));
  if (!arguments.change.job_file.empty()) {
    if (!changes.empty() || !arguments.jitter.empty())
      return fail(ErrorKind::kUsage, "predict: {} and --job answer different questions; give one of them",
                  changes.scales.empty() ? "changes of the graph" : "--scale");
    const PredictResult result = TRY(predict_job(arguments.read, arguments.change, console));
    console.print(arguments.json ? predict_json(result) + "\n" : predict_text(result));
    return {};
  }
  if (!arguments.change.settings.empty())
    return fail(ErrorKind::kUsage, "predict: --set changes a job; name the traced one with --job FILE");
  if (!arguments.change.ignore.empty()) return fail(ErrorKind::kUsage, "predict: --ignore goes with --job");
  if (changes.empty() && arguments.jitter.empty())
    return fail(
        ErrorKind::kUsage,
        "predict: say what changes, as in --scale kernel:.*gemm.*=0.5, or --job job.toml --set data_parallel_size=8");
  const LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  const PredictOptions options = TRY(predict_options(arguments, job));
  const ScaledGraph changed = TRY(apply_changes(job, changes));
  if (!arguments.change.out.empty()) TRY(write_predicted_trace(job.linked.graph, changed.graph, arguments.change.out));
  PredictResult result = predict_result(job.linked.graph, changed.graph, options);
  for (const ScaleMatch& match : changed.matches) {
    result.changes.push_back({match.text, match.tasks, match.time_ms, match.notes});
  }
  for (std::string& warning : warnings_of(job)) result.warnings.push_back(std::move(warning));
  console.print(arguments.json ? predict_json(result) + "\n" : predict_text(result));
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
      {"--set", "NAME=VALUE", "Change the job; several at once", &arguments->change.settings},
      {"--ignore", "WHAT,WHAT", "With --job: do without shapes, collectives (their metadata) or annotations",
       &arguments->change.ignore},
      {"--out",
       "FILE.json.gz",
       "Write the predicted step as a trace for Perfetto; one file per rank, FILE-rankN, if there are several",
       &arguments->change.out,
       false,
       {},
       Completion::kFile},
      {"--seeds", "N", "Simulations to average over, 8 by default", &arguments->change.seeds},
      {"--plain", "", "Leave out how waiting grows with more members, for comparison", &arguments->change.plain},
      {"--jitter", "SIGMA|fitted", "Let times vary by chance, 0.05 for 5 %, or as in the trace, and show p50 and p95",
       &arguments->jitter},
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

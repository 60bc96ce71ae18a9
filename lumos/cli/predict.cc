#include "lumos/cli/predict.h"

#include <memory>
#include <utility>

#include "lumos/cli/predict_job.h"
#include "lumos/cli/predict_schema.h"
#include "lumos/cli/read_arguments.h"
#include "lumos/report/predict_result.h"
#include "lumos/whatif/scale.h"

namespace lumos {

namespace {

struct PredictArguments {
  ReadArguments read;
  std::vector<std::string> scales;
  JobChange change;
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

Status run(const PredictArguments& arguments, Console& console) {
  if (!arguments.change.job_file.empty()) {
    if (!arguments.scales.empty())
      return fail(ErrorKind::kUsage, "predict: --scale and --job answer different questions; give one of them");
    const PredictResult result = TRY(predict_job(arguments.read, arguments.change, console));
    console.print(arguments.json ? predict_json(result) + "\n" : predict_text(result));
    return {};
  }
  if (!arguments.change.settings.empty())
    return fail(ErrorKind::kUsage, "predict: --set changes a job; name the traced one with --job FILE");
  std::vector<Scale> scales;
  for (const std::string& text : arguments.scales) scales.push_back(TRY(parse_scale(text)));
  if (scales.empty())
    return fail(
        ErrorKind::kUsage,
        "predict: say what changes, as in --scale kernel:.*gemm.*=0.5, or --job job.toml --set data_parallel_size=8");
  const LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  const ScaledGraph changed = TRY(scale_graph(job, scales));
  PredictResult result = predict_result(job.linked.graph, changed.graph, static_cast<int>(arguments.read.threads));
  for (const ScaleMatch& match : changed.matches) result.changes.push_back({match.text, match.tasks, match.time_ms});
  result.warnings = warnings_of(job);
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
      "Simulates the job again with parts of it made faster or slower. A selector is comm:REGEX (transfers, by kind "
      "or group; waiting follows by itself), group:REGEX, kernel:REGEX (GPU work that is no communication), op:REGEX "
      "(the kernels of an operator), op-cpu:REGEX (its CPU time), host (all CPU time but the profiler's own) or "
      "rank:N. Expressions match the whole name. With --job, the traced program is recovered, changed as --set says "
      "(Megatron's argument names, data_parallel_size and num_microbatches), and lowered again.";
  command.example = "lumos predict traces/ --scale comm:.*=0.5 --scale host=0.8";
  command.schema = {"lumos.predict.v1", kPredictSchema};
  command.options = {
      {"--scale", "SELECTOR=FACTOR", "Multiply the time of what matches", &arguments->scales},
      {"--job",
       "FILE",
       "The traced job, TOML or JSON with Megatron's argument names",
       &arguments->change.job_file,
       false,
       {},
       Completion::kFile},
      {"--set", "NAME=VALUE", "Change the job; several at once", &arguments->change.settings},
      {"--seeds", "N", "Simulations to average over, 8 by default", &arguments->change.seeds},
      {"--plain", "", "Leave out how waiting grows with more members, for comparison", &arguments->change.plain},
      {"--json", "", "Print one JSON object instead of text", &arguments->json},
  };
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

#include "lumos/cli/commands/estimate.h"

#include <memory>

#include "lumos/base/file.h"
#include "lumos/base/parallel.h"
#include "lumos/cli/arguments/job_arguments.h"
#include "lumos/cli/schemas/estimate_schema.h"
#include "lumos/model/job/measured_runs.h"
#include "lumos/plan/estimate.h"
#include "lumos/report/text/estimate_render.h"
#include "lumos/report/text_table.h"
#include "lumos/search/shard.h"

namespace lumos {

namespace {

struct EstimateArguments {
  JobArguments common;
  std::string jobs, shard, out;
  int64_t threads = 0;
  bool json = false;
};

Status estimate_one(const EstimateArguments& arguments, Console& console) {
  const auto [job, cluster] = TRY(read_job_and_cluster(arguments.common, console));
  const Estimate result = TRY(estimate(job, cluster));
  console.print(arguments.json ? estimate_json(job, result) + "\n" : fold_lines(estimate_text(job, cluster, result)));
  return {};
}

EstimateRow estimate_row(const CsvTable& table, size_t row, const CommonJob& common, const Cluster& cluster) {
  EstimateRow result;
  result.line = table.lines[row];
  const Result<MeasuredRun> run = measured_run(table, row, common);
  if (!run) return result.failure = run.error().message, result;
  result.job = run->job;
  result.measured_step_ms = run->step_ms;
  result.measured_peak_gib = run->peak_allocated_gib;
  const Result<Estimate> done = estimate(run->job, cluster);
  if (!done) return result.failure = done.error().message, result;
  result.estimate = *done;
  return result;
}

Status estimate_many(const EstimateArguments& arguments, Console& console) {
  const SplitSettings settings = TRY(split_settings(arguments.common.settings));
  const Cluster cluster = TRY(read_cluster(arguments.common, settings));
  const CommonJob common = TRY(read_common_job(arguments.common, settings));
  const CsvTable table = TRY(read_csv_file(arguments.jobs));
  TRY_STATUS(check_columns(table, {}));
  for (const std::string& column : unread_columns(table)) console.note("not read: column " + column);
  const Shard shard = arguments.shard.empty() ? Shard{} : TRY(parse_shard(arguments.shard));
  std::vector<size_t> own;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    if (shard.has(row)) own.push_back(row);
  }
  std::vector<EstimateRow> rows(own.size());
  parallel_for(rows.size(), static_cast<int>(arguments.threads),
               [&](size_t i) { rows[i] = estimate_row(table, own[i], common, cluster); });
  if (!arguments.out.empty()) {
    const std::string path = arguments.shard.empty() ? arguments.out : shard_path(arguments.out, shard);
    return write_file(path, estimate_lines(rows));
  }
  console.print(arguments.json ? estimates_json(rows) + "\n" : fold_lines(estimates_text(rows)));
  return {};
}

Status run(const EstimateArguments& arguments, Console& console) {
  if (!arguments.shard.empty() && (arguments.jobs.empty() || arguments.out.empty())) {
    return fail(ErrorKind::kUsage,
                "--shard is for --jobs FILE.csv and needs --out FILE.jsonl to write its part beside");
  }
  if (!arguments.out.empty() && arguments.jobs.empty()) {
    return fail(ErrorKind::kUsage, "--out is for --jobs FILE.csv");
  }
  if (!arguments.jobs.empty()) return estimate_many(arguments, console);
  if (arguments.common.job.empty()) return fail(ErrorKind::kUsage, "estimate needs --job FILE or --jobs FILE.csv");
  return estimate_one(arguments, console);
}

}  // namespace

Command estimate_command() {
  auto arguments = std::make_shared<EstimateArguments>();
  Command command;
  command.name = "estimate";
  command.summary = "Step time, FLOPs and memory of a job without traces";
  command.description =
      "Times the kernels of the model with the constants of the cluster file, walks the pipeline schedule once, and "
      "adds what follows the last backward pass. The cost does not depend on the number of GPUs. Memory is counted "
      "tensor by tensor for each pipeline stage; a job that does not fit is an answer, not an error. With --jobs, each "
      "row of a table changes the settings that its columns name.";
  command.example = "lumos estimate --job gpt3-175b --cluster dgx-h100 --set data_parallel_size=64";
  command.schema = {"lumos.estimate.v1", kEstimateSchema};
  command.options = {
      {"--job",
       "FILE",
       "The job: Megatron's argument names in TOML or JSON, or the name of one that comes with Lumos",
       &arguments->common.job,
       false,
       {},
       Completion::kFile},
      {"--jobs",
       "FILE.csv",
       "Estimate one job per row; --job then holds what the rows do not say",
       &arguments->jobs,
       false,
       {},
       Completion::kFile},
  };
  for (Option& option : cluster_options(arguments->common)) command.options.push_back(std::move(option));
  command.options.push_back({"--out",
                             "FILE.jsonl",
                             "With --jobs: write one JSON object per row to this file instead of printing",
                             &arguments->out,
                             false,
                             {},
                             Completion::kFile});
  command.options.push_back(
      {"--shard", "I/N", "With --jobs: do part I of N of the rows, or the part that 'auto' finds in the environment",
       &arguments->shard});
  command.options.push_back({"--threads", "N", "Workers for --jobs; 0 means all processors", &arguments->threads});
  command.options.push_back({"--json", "", "Print one JSON object instead of text", &arguments->json});
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

#include "lumos/cli/commands/calibrate.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "lumos/base/file.h"
#include "lumos/cli/arguments/job_arguments.h"
#include "lumos/cli/schemas/calibrate_schema.h"
#include "lumos/plan/calibrate.h"
#include "lumos/report/text/calibration_render.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

/// Below this size a collective is all latency, and its time says more about the benchmark's loop than about the
/// network.
constexpr double kLeastCollectiveBytes = 4.0 * 1024 * 1024;

struct CalibrateArguments {
  JobArguments common;
  std::string runs;
  std::string collectives;
  std::vector<std::string> constants;
  std::string leave_out = "hidden_size";
  std::string out;
  bool json = false;
};

Result<Calibration> fit_collectives(const CalibrateArguments& arguments, const Cluster& cluster, Console& console) {
  const CsvTable table = TRY(read_csv_file(arguments.collectives));
  const std::vector<MeasuredCollective> rows = TRY(measured_collectives(table));
  const auto small = std::count_if(
      rows.begin(), rows.end(), [](const MeasuredCollective& row) { return row.size_bytes < kLeastCollectiveBytes; });
  if (small > 0) {
    const std::string why = fmt::format("{} of {} rows of {} are below 4 MiB, where the time is all latency", small,
                                        rows.size(), arguments.collectives);
    if (static_cast<size_t>(small) == rows.size()) return fail(ErrorKind::kUsage, "{}; nothing is left to fit", why);
    console.note("not used: " + why);
  }
  return calibrate_collectives(cluster, rows, kLeastCollectiveBytes);
}

Result<Calibration> fit_runs(const CalibrateArguments& arguments, const SplitSettings& settings, const Cluster& cluster,
                             Console& console) {
  const CommonJob common = TRY(read_common_job(arguments.common, settings));
  const CsvTable table = TRY(read_csv_file(arguments.runs));
  TRY_STATUS(check_columns(table, {"step_ms"}));
  for (const std::string& column : unread_columns(table)) console.note("not read: column " + column);
  const std::vector<MeasuredRun> runs = TRY(measured_runs(table, common));
  std::vector<std::string> constants = arguments.constants;
  if (constants.empty()) constants = constants_of_runs(runs, cluster);
  if (!arguments.collectives.empty()) {
    // What collectives measured alone have said is not asked of the steps again.
    std::erase_if(constants,
                  [](const std::string& name) { return name.starts_with("node.") || name == "reduce_gb_per_s"; });
  }
  return calibrate_runs(cluster, runs, constants, arguments.leave_out);
}

/// A small error on few rows is no sign of a good fit.
void note_few_rows(const std::vector<NamedCalibration>& fits, Console& console) {
  for (const NamedCalibration& fit : fits) {
    const size_t rows = fit.calibration.in_sample.rows, constants = fit.calibration.constants.size();
    if (rows >= constants) continue;
    console.note(
        fmt::format("warning: {} {} of --{} cannot tell {} constants: what they leave open stays near what it was, and "
                    "the error in sample says little; measure more, or name fewer with --constants",
                    rows, rows == 1 ? "row" : "rows", fit.name, constants));
  }
}

Status run(const CalibrateArguments& arguments, Console& console) {
  if (arguments.runs.empty() && arguments.collectives.empty()) {
    return fail(ErrorKind::kUsage, "calibrate needs --runs FILE.csv or --collectives FILE.csv");
  }
  const SplitSettings settings = TRY(split_settings(arguments.common.settings));
  Cluster cluster = TRY(read_cluster(arguments.common, settings));
  std::vector<NamedCalibration> fits;
  if (!arguments.collectives.empty()) {
    fits.push_back({"collectives", TRY(fit_collectives(arguments, cluster, console))});
    cluster = fits.back().calibration.cluster;
  }
  if (!arguments.runs.empty()) {
    fits.push_back({"runs", TRY(fit_runs(arguments, settings, cluster, console))});
    cluster = fits.back().calibration.cluster;
  }
  note_few_rows(fits, console);
  if (!arguments.out.empty())
    TRY_STATUS(write_file(arguments.out, cluster_to_toml(cluster, calibration_heading(fits))));
  console.print(arguments.json ? calibration_json(fits) + "\n" : fold_lines(calibration_text(fits)));
  return {};
}

}  // namespace

Command calibrate_command() {
  auto arguments = std::make_shared<CalibrateArguments>();
  Command command;
  command.name = "calibrate";
  command.summary = "Fit a cluster's constants to measured steps or collectives";
  command.description =
      "Fits the few constants of a cluster file, at most twelve, to measured step times, collective times or both, and "
      "prints them with the error that the fit leaves and the error on each family of rows when it is left out. Each "
      "row of --runs names job settings in its columns, num_gpus among them, and step_ms; --job holds what the rows do "
      "not say. Rows of --collectives are all-reduces inside a node: num_gpus, size_bytes, time_us.";
  command.example = "lumos calibrate --cluster dgx-a100 --job common.toml --runs measured.csv --out fitted.toml";
  command.schema = {"lumos.calibrate.v1", kCalibrateSchema};
  command.options = {
      {"--job", "FILE", "What all rows of --runs share", &arguments->common.job, false, {}, Completion::kFile},
      {"--runs", "FILE.csv", "Measured steps", &arguments->runs, false, {}, Completion::kFile},
      {"--collectives", "FILE.csv", "Measured collectives", &arguments->collectives, false, {}, Completion::kFile},
      {"--constants", "NAME", "Fit these numbers of the cluster instead of those that the rows depend on",
       &arguments->constants},
      {"--leave-out", "FIELD", "The job setting whose values are left out in turn (default hidden_size)",
       &arguments->leave_out},
      {"--out", "FILE", "Write the fitted cluster file", &arguments->out, false, {}, Completion::kFile},
  };
  for (Option& option : cluster_options(arguments->common)) command.options.push_back(std::move(option));
  command.options.push_back({"--json", "", "Print one JSON object instead of text", &arguments->json});
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

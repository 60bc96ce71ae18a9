#include "lumos/cli/commands/diff.h"

#include <memory>
#include <utility>

#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/cli/schemas/diff_schema.h"
#include "lumos/report/figures/steps.h"
#include "lumos/report/results/diff.h"
#include "lumos/report/text_table.h"
#include "lumos/sim/replayed_table.h"
#include "lumos/sim/simulate.h"

namespace lumos {

namespace {

constexpr size_t kLines = 20;  // of each table

struct DiffArguments {
  ReadArguments read;
  bool replayed = false;
  bool json = false;
};

/// A side with the tables that it points to.
struct Run {
  ExecGraph graph;
  std::vector<EventTable> replayed;  ///< per rank; empty for the measured run
};

DiffSide replayed_side(Run& run, std::string name) {
  const Timeline timeline = simulate(run.graph);
  DiffSide side{std::move(name), {}};
  for (uint32_t r = 0; r < run.graph.ranks.size(); ++r) run.replayed.push_back(replayed_table(run.graph, timeline, r));
  for (uint32_t r = 0; r < run.graph.ranks.size(); ++r) {
    const RankTasks& rank = run.graph.ranks[r];
    side.ranks.push_back({&run.replayed[r], {}});
    for (uint32_t step : chosen_steps(rank)) {
      side.ranks.back().steps.push_back(simulated_window(timeline, rank.steps[step]));
    }
  }
  return side;
}

Result<Run> load_run(const DiffArguments& arguments, const std::string& path, Console& console) {
  ReadArguments one = arguments.read;
  one.paths = {path};
  LinkedJob job = TRY(load_for(one, BuildOptions{}, console));
  TRY_STATUS(check_something_ran(job));
  return Run{std::move(job.linked.graph), {}};
}

Status run(const DiffArguments& arguments, Console& console) {
  const std::vector<std::string>& paths = arguments.read.paths;
  if (paths.size() != 2 && !(paths.size() == 1 && arguments.replayed)) {
    return fail(ErrorKind::kUsage, "diff: takes two traces or folders of traces, or one with --replayed");
  }
  const int threads = static_cast<int>(arguments.read.threads);
  Run a = TRY(load_run(arguments, paths[0], console));
  Diff difference;
  if (paths.size() == 1) {
    const DiffSide measured = measured_side(a.graph, paths[0] + ", measured");
    difference = diff(measured, replayed_side(a, paths[0] + ", replayed"), threads);
  } else {
    Run b = TRY(load_run(arguments, paths[1], console));
    const auto side = [&](Run& run, const std::string& path) {
      return arguments.replayed ? replayed_side(run, path + ", replayed") : measured_side(run.graph, path);
    };
    const DiffSide a_side = side(a, paths[0]);
    difference = diff(a_side, side(b, paths[1]), threads);
  }
  console.print(arguments.json ? diff_json(difference) + "\n" : fold_lines(diff_text(difference, kLines)));
  return {};
}

}  // namespace

Command diff_command() {
  auto arguments = std::make_shared<DiffArguments>();
  Command command;
  command.name = "diff";
  command.summary = "Show what makes one run slower than another";
  command.description =
      "Gives every nanosecond of the chosen steps to one owner: the kernel that computed, else the communication that "
      "was exposed, else what the host did meanwhile. Compares the mean step of two runs by kind of work, template "
      "of the program, stream or thread, and name: each table sums to the difference of the steps. With --replayed the "
      "replayed runs are compared or, of one run, the measured "
      "with the replayed one.";
  command.example = "lumos diff before.json.gz after.json.gz";
  command.schema = {"lumos.diff.v1", kDiffSchema};
  command.options = {
      {"--replayed", "", "Compare replayed runs; of one path, the measured with the replayed run",
       &arguments->replayed},
      {"--json", "", "Print one JSON object instead of text", &arguments->json},
  };
  add_read_options(command, arguments->read);
  command.options.front().help = "The runs A and B: a trace file or a folder of traces each";
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

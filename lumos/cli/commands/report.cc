#include "lumos/cli/commands/report.h"

#include <memory>
#include <utility>

#include "lumos/base/file.h"
#include "lumos/cli/arguments/compare_with.h"
#include "lumos/cli/arguments/find_step.h"
#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/report/page/page.h"
#include "lumos/sim/simulate.h"

namespace lumos {

namespace {

struct ReportArguments {
  ReadArguments read;
  std::string out;
  std::string against;
  bool no_gains = false;
  int64_t rank = -1;
  int64_t step = -1;
};

Status run(const ReportArguments& arguments, Console& console) {
  const LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  TRY_STATUS(check_something_ran(job));
  const ExecGraph& graph = job.linked.graph;
  const Timeline timeline = simulate(graph);
  ReplayResultOptions options;
  options.threads = static_cast<int>(arguments.read.threads);
  options.clock_offset_ns = job.clock_offsets_ns();
  const ReplayResult result = replay_result(graph, timeline, options);
  PageInput input{job, timeline, result, 0, 0, std::nullopt, options.threads, std::nullopt};
  input.rank_index = TRY(find_rank(graph, arguments.rank));
  input.step = TRY(find_step(graph, input.rank_index, arguments.step));
  if (!arguments.against.empty())
    input.comparison = TRY(compare_with(arguments.against, arguments.read, graph, console));
  if (!arguments.no_gains) {
    GainsOptions gains;
    gains.threads = options.threads;
    gains.stop = console.stop;
    input.gains = gains_result(job, gains);
    if (console.stop.stop_requested()) return fail_interrupted();
  }
  return write_file(arguments.out, report_page(input));
}

}  // namespace

Command report_command() {
  auto arguments = std::make_shared<ReportArguments>();
  Command command;
  command.name = "report";
  command.summary = "Write one HTML file that shows the steps of a job";
  command.description =
      "Shows step times, breakdown and utilisation measured and replayed, the streams of all ranks with what each task "
      "waited for, the critical path, kernels, collectives, what would be worth making faster, and how far the replay "
      "is "
      "from the measurement. The file "
      "holds all it needs: it opens without a network, and its tables and drawings without script. With --against, "
      "another run or what 'lumos predict --json' printed stands beside it.";
  command.example = "lumos report traces/ --out report.html";
  command.options = {
      {"--out", "FILE.html", "Where to write; '-' is stdout", &arguments->out, true, {}, Completion::kFile},
      {"--against",
       "PATH",
       "Another run (a trace or a folder of traces) or a prediction to compare with",
       &arguments->against,
       false,
       {},
       Completion::kFile},
      {"--no-gains", "", "Leave out the table of gains, which takes most of the time of large jobs",
       &arguments->no_gains},
      {"--rank",
       "N",
       "The rank whose kernels, collectives and critical path are shown; the lowest by default",
       &arguments->rank,
       false,
       {},
       Completion::kNothing,
       0},
      {"--step",
       "N",
       "The step, by the number in its name; the chosen one of median length by default",
       &arguments->step,
       false,
       {},
       Completion::kNothing,
       0},
  };
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

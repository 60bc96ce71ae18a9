#include "lumos/cli/commands/replay.h"

#include <memory>
#include <optional>
#include <utility>

#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/cli/arguments/step_range.h"
#include "lumos/cli/schemas/replay_schema.h"
#include "lumos/report/files/trace_files.h"
#include "lumos/report/results/replay_result.h"
#include "lumos/report/text/replay_render.h"
#include "lumos/report/text_table.h"
#include "lumos/sim/keep_residuals.h"
#include "lumos/sim/simulate.h"

namespace lumos {

namespace {

struct ReplayArguments {
  ReadArguments read;
  std::string steps;
  std::string residuals = "drop";
  bool no_inter_stream = false;
  std::string out;
  bool json = false;
};

Status run(const ReplayArguments& arguments, Console& console) {
  if (!arguments.out.empty()) TRY_STATUS(check_trace_name("--out", arguments.out));
  std::optional<StepRange> range;
  if (!arguments.steps.empty()) range = TRY(parse_step_range(arguments.steps));
  BuildOptions build;
  build.inter_stream = !arguments.no_inter_stream;
  LinkedJob job = TRY(load_for(arguments.read, build, console));
  TRY_STATUS(check_something_ran(job));
  ExecGraph& graph = job.linked.graph;
  if (range) TRY_STATUS(choose_steps(graph, *range));
  const bool strict = arguments.residuals == "drop";
  if (!strict) graph = keep_residuals(graph);
  const Timeline timeline = simulate(graph);
  if (!arguments.out.empty()) TRY(write_replayed_trace(graph, timeline, arguments.out));
  ReplayResultOptions options;
  options.strict = strict;
  options.threads = static_cast<int>(arguments.read.threads);
  options.clock_offset_ns = job.clock_offsets_ns();
  const ReplayResult result = replay_result(graph, timeline, options);
  console.print(arguments.json ? replay_json(result) + "\n" : fold_lines(replay_text(result)));
  return {};
}

}  // namespace

Command replay_command() {
  auto arguments = std::make_shared<ReplayArguments>();
  Command command;
  command.name = "replay";
  command.summary = "Simulate the recorded steps and compare with the measurement";
  command.description =
      "Rebuilds what each task of the trace depended on, simulates the whole trace from those dependencies and a few "
      "calibrated constants alone, and prints the simulated step beside the measured one. What the simulation gets "
      "right without having been told is what a what-if can be trusted with.";
  command.example = "lumos replay traces/ --steps 4-6 --json";
  command.schema = {"lumos.replay.v1", kReplaySchema};
  command.options = {
      {"--steps", "A-B", "Read the results off these steps, by the number in their name", &arguments->steps},
      {"--residuals",
       "",
       "Drop what the dependencies leave unexplained (default), or keep it: the measured timeline, "
       "for editing",
       &arguments->residuals,
       false,
       {"drop", "keep"}},
      {"--no-inter-stream", "", "Leave out dependencies between streams, as earlier tools do",
       &arguments->no_inter_stream},
      {"--out",
       "FILE.json.gz",
       "Write the replayed run as a trace for Perfetto; one file per rank, FILE-rankN, if there "
       "are several",
       &arguments->out,
       false,
       {},
       Completion::kFile},
      {"--json", "", "Print one JSON object instead of text", &arguments->json},
  };
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

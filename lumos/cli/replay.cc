#include "lumos/cli/replay.h"

#include <memory>
#include <optional>
#include <utility>

#include "lumos/base/parallel.h"
#include "lumos/cli/read_arguments.h"
#include "lumos/cli/replay_schema.h"
#include "lumos/cli/step_range.h"
#include "lumos/graph/build.h"
#include "lumos/graph/join.h"
#include "lumos/report/replay_render.h"
#include "lumos/report/replay_result.h"
#include "lumos/report/trace_files.h"
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

ExecGraph build_job(std::vector<EventTable> tables, const ReplayArguments& arguments) {
  BuildOptions options;
  options.inter_stream = !arguments.no_inter_stream;
  std::vector<ExecGraph> graphs(tables.size());
  parallel_for(tables.size(), static_cast<int>(arguments.read.threads), [&](size_t i) {
    graphs[i] = build_graph(std::make_shared<const EventTable>(std::move(tables[i])), options);
  });
  return join_ranks(std::move(graphs));
}

Status run(const ReplayArguments& arguments, Console& console) {
  std::optional<StepRange> range;
  if (!arguments.steps.empty()) range = TRY(parse_step_range(arguments.steps));
  TraceSet set = TRY(read_for(arguments.read, console));
  ExecGraph graph = build_job(std::move(set.tables), arguments);
  if (range) TRY_STATUS(choose_steps(graph, *range));
  const bool strict = arguments.residuals == "drop";
  if (!strict) graph = keep_residuals(graph);
  const Timeline timeline = simulate(graph);
  if (!arguments.out.empty()) TRY(write_replayed_trace(graph, timeline, arguments.out));
  ReplayResultOptions options;
  options.strict = strict;
  options.threads = static_cast<int>(arguments.read.threads);
  const ReplayResult result = replay_result(graph, timeline, options);
  console.print(arguments.json ? replay_json(result) + "\n" : replay_text(result));
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

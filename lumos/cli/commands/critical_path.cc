#include "lumos/cli/commands/critical_path.h"

#include <memory>

#include "lumos/cli/arguments/find_step.h"
#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/cli/schemas/critical_path_schema.h"
#include "lumos/report/figures/measured_timeline.h"
#include "lumos/report/files/overlay.h"
#include "lumos/report/results/path_table.h"
#include "lumos/report/text_table.h"
#include "lumos/sim/simulate.h"
#include "lumos/trace/write/chrome_writer.h"

namespace lumos {

namespace {

constexpr size_t kTaskLines = 25;  // a screen together with the table by cause

struct CriticalPathArguments {
  ReadArguments read;
  int64_t rank = -1;
  int64_t step = -1;
  bool measured = false;
  std::string overlay;
  bool json = false;
};

/// The path is drawn with arrows, which only Chrome JSON is written with.
Status check_overlay_name(std::string_view path) {
  if (path.empty() || path == "-" || path.starts_with("/dev/")) return {};
  if (path.ends_with(".json") || path.ends_with(".json.gz")) return {};
  return fail(ErrorKind::kUsage, "--overlay {}: the name must end with .json or .json.gz", path);
}

Status run(const CriticalPathArguments& arguments, Console& console) {
  TRY_STATUS(check_overlay_name(arguments.overlay));
  const LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  TRY_STATUS(check_something_ran(job));
  const ExecGraph& graph = job.linked.graph;
  const uint32_t rank_index = TRY(find_rank(graph, arguments.rank));
  const Step& step = graph.ranks[rank_index].steps[TRY(find_step(graph, rank_index, arguments.step))];
  const Timeline timeline = arguments.measured ? measured_timeline(graph) : simulate(graph);
  const CriticalPath path = critical_path(graph, timeline, rank_index, step);
  if (!arguments.overlay.empty()) TRY_STATUS(write_overlay(graph, rank_index, step, path, arguments.overlay));
  console.print(arguments.json ? critical_path_json(graph, rank_index, step, path) + "\n"
                               : fold_lines(critical_path_text(graph, rank_index, step, path, kTaskLines)));
  return {};
}

}  // namespace

Status write_overlay(const ExecGraph& graph, uint32_t rank_index, const Step& step, const CriticalPath& path,
                     const std::string& file) {
  const RankTasks& rank = graph.ranks[rank_index];
  ChromeOptions options;
  options.launch_flows = false;  // Arrows mean the path here, and nothing else.
  options.counters = counter_curves(*rank.table, measured_window(graph, rank, step));
  add_critical_path(graph, rank_index, path, options);
  return write_chrome_trace(*rank.table, file, options);
}

Command critical_path_command() {
  auto arguments = std::make_shared<CriticalPathArguments>();
  Command command;
  command.name = "critical-path";
  command.summary = "Show what a step waited for, by cause and by task";
  command.description =
      "Walks from the end of a step back to its start along the dependencies that decided when each task began, in the "
      "replayed run or, with --measured, in the recorded one. The pieces join without gap or overlap, so both tables "
      "sum to the step to the nanosecond. Without --step the chosen step of median length is taken, without --rank "
      "the lowest rank.";
  command.example = "lumos critical-path traces/ --rank 3 --step 5 --overlay path.json.gz";
  command.schema = {"lumos.critical_path.v1", kCriticalPathSchema};
  command.options = {
      {"--rank", "N", "The rank whose step is looked at", &arguments->rank, false, {}, Completion::kNothing, 0},
      {"--step", "N", "The step, by the number in its name", &arguments->step, false, {}, Completion::kNothing, 0},
      {"--measured", "", "Walk through the recorded run instead of the replayed one", &arguments->measured},
      {"--overlay",
       "FILE.json.gz",
       "Write the measured trace with the path marked and joined by arrows, for Perfetto",
       &arguments->overlay,
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

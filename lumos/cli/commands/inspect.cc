#include "lumos/cli/commands/inspect.h"

#include <memory>
#include <optional>
#include <utility>

#include "lumos/base/parallel.h"
#include "lumos/cli/arguments/config_file.h"
#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/cli/commands/traced_job.h"
#include "lumos/cli/schemas/inspect_schema.h"
#include "lumos/cli/schemas/program_schema.h"
#include "lumos/graph/join.h"
#include "lumos/graph/rank/build.h"
#include "lumos/model/job/job_file.h"
#include "lumos/program/lower/plan.h"
#include "lumos/report/text/dependency_list.h"
#include "lumos/report/text/inventory_render.h"
#include "lumos/report/text/program_list.h"
#include "lumos/report/text/unexplained_list.h"
#include "lumos/report/text_table.h"
#include "lumos/trace/sets/ignore.h"

namespace lumos {

namespace {

struct InspectArguments {
  ReadArguments read;
  bool json = false;
  bool dependencies = false;
  bool unexplained = false;
  bool program = false;
  std::string job_file;
  std::string ignore;
};

// What --unexplained lists of each rank.
constexpr size_t kUnexplainedText = 20;
constexpr size_t kUnexplainedJson = 1000;

/// A rank with the table and graph that its inventory refers to.
struct Inspection {
  std::shared_ptr<const EventTable> table;
  InspectedRank rank;
};

Inspection inspect_rank(EventTable table) {
  Inspection out;
  out.table = std::make_shared<const EventTable>(std::move(table));
  out.rank.inventory = take_inventory(*out.table);
  const ExecGraph graph = build_graph(out.table, BuildOptions{});
  for (const RankTasks& tasks : graph.ranks) out.rank.constants = tasks.constants;
  return out;
}

std::string look_inside(const ExecGraph& graph, const InspectArguments& arguments) {
  if (arguments.dependencies)
    return arguments.json ? dependencies_json(graph) + "\n" : fold_lines(dependencies_text(graph));
  return arguments.json ? unexplained_json(graph, kUnexplainedJson) + "\n"
                        : fold_lines(unexplained_text(graph, kUnexplainedText));
}

/// The dependencies, or what they leave unexplained, of every rank on its own.
Status run_inside(const InspectArguments& arguments, TraceSet set, Console& console) {
  std::vector<ExecGraph> graphs(set.tables.size());
  parallel_for(set.tables.size(), static_cast<int>(arguments.read.threads), [&](size_t i) {
    graphs[i] = build_graph(std::make_shared<const EventTable>(std::move(set.tables[i])), BuildOptions{});
  });
  console.print(look_inside(join_ranks(std::move(graphs)), arguments));
  return {};
}

/// The program that recovery finds; a job file tells what the traces do not.
Status run_program(const InspectArguments& arguments, TraceSet set, Console& console) {
  std::optional<Job> job;
  if (!arguments.job_file.empty()) {
    const JobFile file = TRY(read_traced_job(TRY(find_config("jobs", arguments.job_file)), set.tables,
                                             static_cast<int>(arguments.read.threads)));
    for (const std::string& warning : file.warnings) console.note(warning);
    job = file.job;
  }
  std::vector<ExecGraph> graphs(set.tables.size());
  std::vector<RecoveredRank> recovered(set.tables.size());
  parallel_for(set.tables.size(), static_cast<int>(arguments.read.threads), [&](size_t i) {
    auto table = std::make_shared<const EventTable>(std::move(set.tables[i]));
    recovered[i] = recover(*table, job ? hints_from_job(*job, table->info.rank) : hints_from_groups(*table));
    graphs[i] = build_graph(std::move(table), BuildOptions{});
  });
  const Program program = make_program(graphs, std::move(recovered));
  std::vector<LoweredAgain> again(graphs.size());
  parallel_for(graphs.size(), static_cast<int>(arguments.read.threads),
               [&](size_t i) { again[i] = lower_again(graphs[i], program, static_cast<uint32_t>(i)); });
  console.print(arguments.json ? program_json(program, again) + "\n" : fold_lines(program_text(program, again)));
  return {};
}

Status run(const InspectArguments& arguments, Console& console) {
  if (arguments.dependencies && arguments.unexplained) {
    return fail(ErrorKind::kUsage, "--dependencies and --unexplained are two questions; ask one at a time");
  }
  if (!arguments.job_file.empty() && !arguments.program) {
    return fail(ErrorKind::kUsage, "inspect: --job tells --program what the traces do not; give both or neither");
  }
  const IgnoredMetadata ignored = TRY(parse_ignored(arguments.ignore));
  TraceSet set = TRY(read_for(arguments.read, console));
  for (EventTable& table : set.tables) ignore_metadata(table, ignored);
  if (arguments.program) return run_program(arguments, std::move(set), console);
  if (arguments.dependencies || arguments.unexplained) return run_inside(arguments, std::move(set), console);
  std::vector<Inspection> inspections(set.tables.size());
  parallel_for(set.tables.size(), static_cast<int>(arguments.read.threads),
               [&](size_t i) { inspections[i] = inspect_rank(std::move(set.tables[i])); });
  std::vector<InspectedRank> ranks;
  for (const Inspection& inspection : inspections) ranks.push_back(inspection.rank);
  std::vector<UnreadFile> unread;
  for (const TraceSet::Failure& failure : set.failures) unread.push_back({failure.file, failure.error.message});
  console.print(arguments.json ? inventory_json(ranks, unread) + "\n" : fold_lines(inventory_text(ranks)));
  return {};
}

}  // namespace

Command inspect_command() {
  auto arguments = std::make_shared<InspectArguments>();
  Command command;
  command.name = "inspect";
  command.summary = "Show what is in the traces, and what they lack";
  command.description =
      "Lists ranks, steps, threads, streams and collectives, the metadata that the traces carry, the constants that "
      "the replay is calibrated to, what was repaired or skipped in damaged files, and what is missing for good "
      "results, with how to record it next time.";
  command.example = "lumos inspect traces/rank0.json.gz";
  command.schema = {"lumos.inspect.v1", kInspectSchema};
  command.other_schema = {"lumos.program.v1", kProgramSchema};
  command.options = {
      {"--dependencies", "", "List what each stream waits for on other streams, how that is known and how sure it is",
       &arguments->dependencies},
      {"--unexplained", "", "List the tasks whose start no dependency explains, with what ran before",
       &arguments->unexplained},
      {"--program", "", "Show the recovered program: stages, micro-batches, layers, time per kind of block",
       &arguments->program},
      {"--job",
       "FILE",
       "With --program: a job file that tells what the traces do not",
       &arguments->job_file,
       false,
       {},
       Completion::kFile},
      {"--ignore", "WHAT,WHAT", "Do without shapes, collectives (their metadata) or annotations", &arguments->ignore},
      {"--json", "", "Print one JSON object instead of text", &arguments->json},
  };
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

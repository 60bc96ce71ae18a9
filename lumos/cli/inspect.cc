#include "lumos/cli/inspect.h"

#include <memory>
#include <utility>

#include "lumos/base/parallel.h"
#include "lumos/cli/inspect_schema.h"
#include "lumos/cli/read_arguments.h"
#include "lumos/graph/build.h"
#include "lumos/report/graph_lists.h"
#include "lumos/report/inventory_render.h"

namespace lumos {

namespace {

constexpr size_t kMostWaitSites = 40;
constexpr size_t kMostUnexplained = 20;

struct InspectArguments {
  ReadArguments read;
  bool json = false;
  bool dependencies = false;
  bool unexplained = false;
};

/// A rank with the table and graph that its inventory refers to.
struct Inspection {
  std::shared_ptr<const EventTable> table;
  InspectedRank rank;
  std::string lists;  ///< what --dependencies and --unexplained ask for
};

Inspection inspect_rank(EventTable table, const InspectArguments& arguments) {
  Inspection out;
  out.table = std::make_shared<const EventTable>(std::move(table));
  out.rank.inventory = take_inventory(*out.table);
  const ExecGraph graph = build_graph(out.table, BuildOptions{});
  for (uint32_t i = 0; i < graph.ranks.size(); ++i) {
    out.rank.constants = graph.ranks[i].constants;
    if (arguments.dependencies) out.lists += wait_sites_text(wait_sites(graph, i), kMostWaitSites);
    if (arguments.unexplained) out.lists += unexplained_tasks_text(unexplained_tasks(graph, i, kMostUnexplained));
  }
  return out;
}

Status run(const InspectArguments& arguments, Console& console) {
  TraceSet set = TRY(read_for(arguments.read, console));
  std::vector<Inspection> inspections(set.tables.size());
  parallel_for(set.tables.size(), static_cast<int>(arguments.read.threads),
               [&](size_t i) { inspections[i] = inspect_rank(std::move(set.tables[i]), arguments); });
  std::vector<InspectedRank> ranks;
  for (const Inspection& inspection : inspections) ranks.push_back(inspection.rank);
  std::vector<UnreadFile> unread;
  for (const TraceSet::Failure& failure : set.failures) unread.push_back({failure.file, failure.error.message});
  if (arguments.json) {
    console.print(inventory_json(ranks, unread) + "\n");
    return {};
  }
  console.print(inventory_text(ranks));
  for (const Inspection& inspection : inspections) {
    if (!inspection.lists.empty())
      console.print(fmt::format("\nrank {}\n{}", inspection.table->info.rank, inspection.lists));
  }
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
  command.options = {
      {"--dependencies", "", "List where threads and streams wait for each other, and how sure that is",
       &arguments->dependencies},
      {"--unexplained", "", "List the tasks whose start the dependencies explain worst", &arguments->unexplained},
      {"--json", "", "Print one JSON object instead of text", &arguments->json},
  };
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

#include "lumos/cli/inspect.h"

#include <memory>
#include <utility>

#include "lumos/base/parallel.h"
#include "lumos/cli/inspect_schema.h"
#include "lumos/cli/read_arguments.h"
#include "lumos/graph/build.h"
#include "lumos/report/inventory_render.h"

namespace lumos {

namespace {

struct InspectArguments {
  ReadArguments read;
  bool json = false;
};

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

Status run(const InspectArguments& arguments, Console& console) {
  TraceSet set = TRY(read_for(arguments.read, console));
  std::vector<Inspection> inspections(set.tables.size());
  parallel_for(set.tables.size(), static_cast<int>(arguments.read.threads),
               [&](size_t i) { inspections[i] = inspect_rank(std::move(set.tables[i])); });
  std::vector<InspectedRank> ranks;
  for (const Inspection& inspection : inspections) ranks.push_back(inspection.rank);
  std::vector<UnreadFile> unread;
  for (const TraceSet::Failure& failure : set.failures) unread.push_back({failure.file, failure.error.message});
  console.print(arguments.json ? inventory_json(ranks, unread) + "\n" : inventory_text(ranks));
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
  command.options = {{"--json", "", "Print one JSON object instead of text", &arguments->json}};
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

#include "lumos/cli/commands/export.h"

#include <memory>

#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/report/files/csv_export.h"
#include "lumos/sim/simulate.h"

namespace lumos {

namespace {

struct ExportArguments {
  ReadArguments read;
  std::string folder;
};

Status run(const ExportArguments& arguments, Console& console) {
  const LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  const ExecGraph& graph = job.linked.graph;
  for (const std::string& file : TRY(write_csv_files(graph, simulate(graph), arguments.folder))) {
    console.print(file + "\n");
  }
  return {};
}

}  // namespace

Command export_command() {
  auto arguments = std::make_shared<ExportArguments>();
  Command command;
  command.name = "export";
  command.summary = "Write tasks, collectives, breakdown and steps as CSV";
  command.description =
      "Writes steps.csv, breakdown.csv, collectives.csv and tasks.csv, measured and replayed times side by side, and "
      "prints the files' names. docs/export.md explains the columns.";
  command.example = "lumos export traces/ --csv results/";
  command.options = {
      {"--csv",
       "DIR",
       "The folder to write to; it is made if need be",
       &arguments->folder,
       true,
       {},
       Completion::kFile},
  };
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

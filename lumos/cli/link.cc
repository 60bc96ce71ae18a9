#include "lumos/cli/link.h"

#include <fmt/format.h>

#include <memory>

#include "lumos/cli/link_schema.h"
#include "lumos/cli/read_arguments.h"
#include "lumos/graph/graph_file.h"
#include "lumos/report/link_report.h"

namespace lumos {

namespace {

struct LinkArguments {
  ReadArguments read;
  std::string out;
  bool json = false;
};

Status run(const LinkArguments& arguments, Console& console) {
  const LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  if (!arguments.out.empty()) TRY_STATUS(write_graph_file(job, arguments.out));
  const LinkReport report = link_report(job);
  console.print(arguments.json ? link_json(report) + "\n" : link_text(report));
  return {};
}

}  // namespace

Command link_command() {
  auto arguments = std::make_shared<LinkArguments>();
  Command command;
  command.name = "link";
  command.summary = "Link the ranks of a job into one graph, and keep it in a file";
  command.description =
      "Matches collectives and transfers across ranks, aligns the ranks' clocks, and splits every collective into "
      "waiting and transfer, with bandwidth by group. With --out, the linked job is written to a graph file, which "
      "every command takes in place of the traces: nothing is parsed again.";
  command.example = "lumos link traces/ --out job.lumos && lumos replay job.lumos";
  command.schema = {"lumos.link.v1", kLinkSchema};
  command.options = {
      {"--out", "FILE", "Write the linked job to this graph file", &arguments->out, false, {}, Completion::kFile},
      {"--json", "", "Print one JSON object instead of text", &arguments->json},
  };
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

#include "lumos/cli/commands/stragglers.h"

#include <memory>

#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/cli/schemas/stragglers_schema.h"
#include "lumos/report/results/stragglers.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

struct StragglersArguments {
  ReadArguments read;
  bool json = false;
};

Status run(const StragglersArguments& arguments, Console& console) {
  const LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  TRY_STATUS(check_something_ran(job));
  const Stragglers stragglers = find_stragglers(job, static_cast<int>(arguments.read.threads));
  console.print(arguments.json ? stragglers_json(stragglers) + "\n" : fold_lines(stragglers_text(stragglers)));
  return {};
}

}  // namespace

Command stragglers_command() {
  auto arguments = std::make_shared<StragglersArguments>();
  Command command;
  command.name = "stragglers";
  command.summary = "Show which ranks the others wait for, and what that costs";
  command.description =
      "Lists, for every group of ranks, who arrives last and how long the others wait for it, after the clocks are "
      "aligned; and for every rank whose kernels are slower than the same kernels on the median rank, how much "
      "shorter the step would be if they were not, found by simulating the job that way.";
  command.example = "lumos stragglers traces/";
  command.schema = {"lumos.stragglers.v1", kStragglersSchema};
  command.options = {{"--json", "", "Print one JSON object instead of text", &arguments->json}};
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

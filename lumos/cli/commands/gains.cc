#include "lumos/cli/commands/gains.h"

#include <limits>
#include <memory>

#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/cli/schemas/gains_schema.h"
#include "lumos/report/results/gains_result.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

constexpr size_t kTextRows = 25;  // a screen

struct GainsArguments {
  ReadArguments read;
  bool all = false;
  bool json = false;
};

Status run(const GainsArguments& arguments, Console& console) {
  const LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  TRY_STATUS(check_something_ran(job));
  GainsOptions options;
  options.threads = static_cast<int>(arguments.read.threads);
  options.stop = console.stop;
  const GainsResult result = gains_result(job, options);
  if (console.stop.stop_requested()) return fail_interrupted();
  const size_t limit = arguments.all ? std::numeric_limits<size_t>::max() : kTextRows;
  console.print(arguments.json ? gains_json(result) + "\n" : fold_lines(gains_text(result, limit)));
  return {};
}

}  // namespace

Command gains_command() {
  auto arguments = std::make_shared<GainsArguments>();
  Command command;
  command.name = "gains";
  command.summary = "Rank what would shorten the step most if it were faster";
  command.description =
      "For every kernel family and kernel, operator, module or annotation, kind and group of collectives, "
      "synchronising call, the CPU side and every rank: how much shorter the step would be if it were 10 % faster, "
      "twice as fast, or free, found by simulating the job that way; beside its time and the part of it that lies on "
      "the critical path, in percent of the step. 'ends' is how much of its time must go for nine tenths of all it can "
      "gain: then another path decides. A rank whose kernels are slower than those of its peers could be as fast as "
      "they: "
      "'as peers'. Rows are in the order of what is within reach, the larger of 10 % and that.";
  command.example = "lumos gains traces/";
  command.schema = {"lumos.gains.v1", kGainsSchema};
  command.options = {{"--all", "", "List every row, not only the first 25", &arguments->all},
                     {"--json", "", "Print one JSON object instead of text", &arguments->json}};
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

#include "lumos/cli/commands/validate.h"

#include <limits>
#include <memory>

#include "lumos/base/file.h"
#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/cli/schemas/validate_schema.h"
#include "lumos/report/results/validation.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

constexpr size_t kLines = 12;  // of each table: all four fit two screens

struct ValidateArguments {
  ReadArguments read;
  std::string prediction;
  bool all = false;
  bool json = false;
};

Status run(const ValidateArguments& arguments, Console& console) {
  const std::string text = TRY(read_file(arguments.prediction));
  const Prediction prediction = TRY(read_prediction(text, arguments.prediction));
  const LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  TRY_STATUS(check_something_ran(job));
  const Validation result = validate(prediction, job, static_cast<int>(arguments.read.threads));
  const size_t limit = arguments.all ? std::numeric_limits<size_t>::max() : kLines;
  console.print(arguments.json ? validation_json(result) + "\n" : fold_lines(validation_text(result, limit)));
  return {};
}

}  // namespace

Command validate_command() {
  auto arguments = std::make_shared<ValidateArguments>();
  Command command;
  command.name = "validate";
  command.summary = "Hold a prediction against the trace that was taken later";
  command.description =
      "Takes what 'lumos predict --json' or 'lumos estimate --json' printed and traces of the run that it predicted. "
      "Shows how far the step was off, and where: by component (these sum to the step's error), and GPU work by "
      "template of the program, kernel family and collective, the largest error first. So one learns which part of the "
      "model to distrust. An estimate knows no kernels; its components are compared.";
  command.example = "lumos validate prediction.json traces/";
  command.schema = {"lumos.validate.v1", kValidateSchema};
  command.options = {{"--all", "", "List every line, not only the first 12 of each table", &arguments->all},
                     {"--json", "", "Print one JSON object instead of text", &arguments->json}};
  add_read_options(command, arguments->read);
  command.options.insert(command.options.begin(), {"PREDICTION",
                                                   "",
                                                   "What 'lumos predict --json' printed, in a file",
                                                   &arguments->prediction,
                                                   true,
                                                   {},
                                                   Completion::kFile});
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos

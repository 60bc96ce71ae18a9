#include "lumos/cli/commands/schemas.h"

#include <memory>

#include "lumos/base/file.h"

namespace lumos {

namespace {

Status run(const std::string& folder, Console& console) {
  for (const Command& command : make_commands()) {
    for (const Schema& schema : {command.schema, command.other_schema}) {
      if (schema.name.empty()) continue;
      const std::string path = fmt::format("{}/{}.json", folder, schema.name);
      TRY_STATUS(write_file(path, schema.text));
      console.print(path + "\n");
    }
  }
  return {};
}

}  // namespace

Command schemas_command() {
  auto folder = std::make_shared<std::string>();
  Command command;
  command.name = "schemas";
  command.summary = "Write the JSON schemas of all outputs";
  command.description =
      "Writes one file per JSON output into the folder, named after the schema, and prints the names.";
  command.options = {{"DIR", "", "The folder to write to", folder.get(), true, {}, Completion::kFile}};
  command.run = [folder](Console& console) { return run(*folder, console); };
  return command;
}

}  // namespace lumos

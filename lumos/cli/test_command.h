// Runs a command line as `lumos` does, for tests: what it prints, notes and ends with. Tests only.
#pragma once

#include <string>
#include <vector>

#include "lumos/cli/arguments/command.h"
#include "lumos/cli/parse.h"

namespace lumos {

struct CommandRun {
  int exit = 0;
  std::string out, notes, error;
};

inline CommandRun run_command(const std::vector<std::string>& words) {
  CommandRun run;
  const std::vector<Command> commands = make_commands();
  Console console{[&](std::string_view text) { run.out += text; },
                  [&](std::string_view text) { run.notes += std::string(text) + "\n"; }};
  const auto invocation = parse_command_line(commands, words);
  Status status;
  if (!invocation) {
    status = tl::unexpected<Error>(invocation.error());
  } else if (invocation->command != nullptr) {
    status = invocation->command->run(console);
  } else {
    run.out = invocation->text;
  }
  if (!status) run.exit = static_cast<int>(status.error().kind), run.error = status.error().message;
  return run;
}

}  // namespace lumos

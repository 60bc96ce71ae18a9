// Command line to command: finds the command that the words name and stores its options. The one user of CLI11.
#pragma once

#include <string>
#include <vector>

#include "lumos/cli/arguments/command.h"

namespace lumos {

/// What to do with the words: run `command`, or, if it is nullptr, print `text` (help or version).
struct Invocation {
  const Command* command = nullptr;
  std::string text;
};

/// `words` are the arguments after the program's name. Errors: kUsage, with the nearest known word where there is one.
Result<Invocation> parse_command_line(const std::vector<Command>& commands, const std::vector<std::string>& words);

}  // namespace lumos

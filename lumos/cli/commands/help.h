// The words that --help prints, and docs/commands.md, from the command table. Fits 80 columns.
#pragma once

#include <string>
#include <vector>

#include "lumos/cli/arguments/command.h"

namespace lumos {

/// All commands with their summaries.
std::string overview(const std::vector<Command>& commands);

/// Usage, description and options of one command.
std::string command_help(const Command& command);

/// docs/commands.md.
std::string markdown_reference(const std::vector<Command>& commands);

/// `lumos reference`, which prints that page.
Command reference_command();

}  // namespace lumos

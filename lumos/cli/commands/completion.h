// `lumos completion SHELL`: completion scripts for bash, zsh and fish, from the command table.
#pragma once

#include <string>
#include <vector>

#include "lumos/cli/arguments/command.h"

namespace lumos {

std::string bash_completion(const std::vector<Command>& commands);
std::string zsh_completion(const std::vector<Command>& commands);
std::string fish_completion(const std::vector<Command>& commands);

Command completion_command();

}  // namespace lumos

// `lumos link`: traces in, one graph file of the whole job out, and what the ranks have to do with each other.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command link_command();

}  // namespace lumos

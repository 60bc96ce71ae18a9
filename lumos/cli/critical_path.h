// `lumos critical-path`: what a step was waiting for, from its end back to its start.
#pragma once

#include "lumos/cli/command.h"

namespace lumos {

Command critical_path_command();

}  // namespace lumos

// `lumos calibrate`: fits the constants of a cluster file to what was measured.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command calibrate_command();

}  // namespace lumos

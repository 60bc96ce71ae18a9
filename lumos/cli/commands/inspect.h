// `lumos inspect`: what is in the traces, and what they lack.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command inspect_command();

}  // namespace lumos

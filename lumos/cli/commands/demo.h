// `lumos demo`: writes the embedded demo trace.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command demo_command();

}  // namespace lumos

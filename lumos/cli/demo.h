// `lumos demo`: writes the embedded demo trace.
#pragma once

#include "lumos/cli/command.h"

namespace lumos {

Command demo_command();

}  // namespace lumos

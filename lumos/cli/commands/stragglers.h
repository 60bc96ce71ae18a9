// `lumos stragglers`: which rank the others wait for, and what the step would gain without that.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command stragglers_command();

}  // namespace lumos

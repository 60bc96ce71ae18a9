// `lumos diff`: what makes one run slower than another.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command diff_command();

}  // namespace lumos

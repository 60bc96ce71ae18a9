// `lumos gains`: which part of a job is worth making faster.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command gains_command();

}  // namespace lumos

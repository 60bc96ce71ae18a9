// `lumos replay`: traces in, the simulated step beside the measured one out.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command replay_command();

}  // namespace lumos

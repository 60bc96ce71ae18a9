// `lumos search`: which configuration of a job is the fastest on so many GPUs.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command search_command();

}  // namespace lumos

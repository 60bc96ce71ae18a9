// `lumos search`: which configuration of a job is the fastest on so many GPUs.
#pragma once

#include "lumos/cli/command.h"

namespace lumos {

Command search_command();

}  // namespace lumos

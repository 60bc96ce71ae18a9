// `lumos estimate`: step time, FLOPs and memory of jobs on a cluster, without traces.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command estimate_command();

}  // namespace lumos

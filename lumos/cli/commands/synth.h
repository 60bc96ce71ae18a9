// `lumos synth`: the traces of a job that nobody has run.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command synth_command();

}  // namespace lumos

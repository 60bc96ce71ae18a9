// `lumos validate`: a prediction against the trace that was taken later.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command validate_command();

}  // namespace lumos

// `lumos validate`: a prediction against the trace that was taken later.
#pragma once

#include "lumos/cli/command.h"

namespace lumos {

Command validate_command();

}  // namespace lumos

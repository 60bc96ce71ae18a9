// `lumos predict`: the step of a job with something changed.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command predict_command();

}  // namespace lumos

// `lumos merge`: results of the parts of a search as one file.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command merge_command();

}  // namespace lumos

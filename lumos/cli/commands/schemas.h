// `lumos schemas DIR`: writes the JSON schema of every command's --json output, from the command table.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command schemas_command();

}  // namespace lumos

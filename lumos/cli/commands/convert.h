// `lumos convert`: traces in another format, replayed, or without names.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command convert_command();

}  // namespace lumos

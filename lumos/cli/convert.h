// `lumos convert`: traces in another format, replayed, or without names.
#pragma once

#include "lumos/cli/command.h"

namespace lumos {

Command convert_command();

}  // namespace lumos

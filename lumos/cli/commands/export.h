// `lumos export`: results as CSV files.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command export_command();

}  // namespace lumos

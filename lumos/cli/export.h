// `lumos export`: results as CSV files.
#pragma once

#include "lumos/cli/command.h"

namespace lumos {

Command export_command();

}  // namespace lumos

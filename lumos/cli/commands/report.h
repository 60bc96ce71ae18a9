// `lumos report`: one HTML file that shows a job's steps.
#pragma once

#include "lumos/cli/arguments/command.h"

namespace lumos {

Command report_command();

}  // namespace lumos

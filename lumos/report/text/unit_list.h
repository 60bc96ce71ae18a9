// The units of a sharded job as text: how large they are, how often they are gathered and reduced, how long that takes
// and how much of it computing hides. Part of program_list.
#pragma once

#include <string>

#include "lumos/program/blocks/program.h"

namespace lumos {

/// Lines for `lumos inspect --program`; "" where the rank shards no parameters.
std::string units_text(const RankProgram& rank);

}  // namespace lumos

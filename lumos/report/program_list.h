// What recovery found in the traces, for people and programs: stages, micro-batches, layers, and per kind of block how
// many there are, how many kernels each launches, and how long they run. Made from a Program; printed by inspect.
#pragma once

#include <string>

#include "lumos/program/program.h"

namespace lumos {

std::string program_text(const Program& program);

/// lumos.program.v1: the same, and the label of every GPU row.
std::string program_json(const Program& program);

}  // namespace lumos

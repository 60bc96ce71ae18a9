// What a user must know of traces before any number that comes of them: that one is cut short, that its GPU work is
// missing, that nothing ran in it, that some lack marks of steps, that several are hardly of one job. Made from tables;
// the commands say it on stderr, once, whatever they answer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// One sentence per kind of fault: in full for the first file that has it, by name for the others.
std::vector<std::string> trace_warnings(std::span<const EventTable* const> tables);

}  // namespace lumos

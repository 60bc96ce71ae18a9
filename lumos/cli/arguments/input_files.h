// The files that a command was told to read, known from its options before anything is read. Asked by the parser, so
// that no command writes over what somebody measured.
#pragma once

#include "lumos/base/result.h"
#include "lumos/cli/arguments/command.h"

namespace lumos {

/// Whether `option` names a file that the command writes and does not read.
bool names_output(const Option& option);

/// Whether no output of `command` is one of the files that it reads, under whatever name, nor would one of the files
/// per rank be. Errors: kUsage naming the option and the file. The parts of a merge are no such files: what is written
/// in their place holds them all.
Status check_inputs_stay(const Command& command);

}  // namespace lumos

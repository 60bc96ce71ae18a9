// `lumos critical-path`: what a step was waiting for, from its end back to its start.
#pragma once

#include <string>

#include "lumos/cli/arguments/command.h"
#include "lumos/report/figures/critical_path.h"

namespace lumos {

/// Writes the measured trace of the rank with the path and the curves of its step on top. Read by python/ too.
Status write_overlay(const ExecGraph& graph, uint32_t rank_index, const Step& step, const CriticalPath& path,
                     const std::string& file);

Command critical_path_command();

}  // namespace lumos

// `--against PATH`: another run or a prediction to stand beside a job in its report. Read by the command and by
// python/.
#pragma once

#include <string>

#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/report/page/page.h"

namespace lumos {

/// `against` is a trace, a folder of traces, or a file of what `lumos predict --json` printed. Errors: what reading it
/// says.
Result<PageComparison> compare_with(const std::string& against, const ReadArguments& read, const ExecGraph& graph,
                                    Console& console);

}  // namespace lumos

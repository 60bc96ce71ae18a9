// Results as CSV files for spreadsheets and notebooks: tasks, collectives, breakdown, steps, measured and replayed side
// by side. Written by `lumos export`; docs/export.md has the columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/exec_graph.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// Writes steps.csv, breakdown.csv, collectives.csv and tasks.csv into `folder`, which is made if need be. Returns the
/// files. Errors: kFailed when one cannot be written.
Result<std::vector<std::string>> write_csv_files(const ExecGraph& graph, const Timeline& timeline,
                                                 const std::string& folder);

/// `text` as one field of a line (RFC 4180): in quotes where it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

}  // namespace lumos

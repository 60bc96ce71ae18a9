// `--kernel-times FILE.csv`: times that somebody measured for kernels, in place of those of the trace and of every
// model. Made from a CSV file; applied by whatif/edit/change after all other changes.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/job/job.h"
#include "lumos/whatif/times/retiming.h"

namespace lumos {

/// One row: the kernels that it means, and how long each takes. What a cell leaves out is not asked for.
struct KernelTime {
  std::regex kernel;             ///< column `kernel`: matches the whole name; required
  std::optional<std::regex> op;  ///< column `op`: some operator around the launch, by its whole name
  std::string input_dims;        ///< column `input_dims`: as recorded, spaces apart: [[16, 512], [512]]
  std::string grid;              ///< column `grid`: 128x1x1
  int64_t time_ns = 0;           ///< column `time_us`; required
  uint32_t line = 0;
};

struct KernelTimes {
  std::string source;
  std::vector<KernelTime> rows;
};

/// Errors: kUnreadable for the file; kUsage for a column that is missing or unknown and for a cell that is wrong, with
/// its line.
Result<KernelTimes> read_kernel_times(const std::string& path);

/// Of rows that mean the same kernel the last wins. A note names the rows that mean none; that all do is up to the
/// caller to judge.
Retiming with_kernel_times(const LinkedJob& job, const KernelTimes& times);

}  // namespace lumos

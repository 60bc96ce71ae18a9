// EventTable -> Chrome trace JSON, in the form that Kineto writes: Perfetto, chrome://tracing and this program's own
// reader open it. Measured and replayed tables alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/trace/table/counter_curve.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// An arrow from one row to another, e.g. of the critical path.
struct RowArrow {
  uint32_t from_row = 0;
  int64_t from_ns = 0;  ///< a moment within the row
  uint32_t to_row = 0;
  int64_t to_ns = 0;
  std::string label;  ///< shown as the argument "type"
};

struct ChromeOptions {
  bool launch_flows = true;            ///< an arrow from each launch call to each of its GPU rows
  std::vector<CounterCurve> counters;  ///< belong to the first GPU, else to the first process
  std::vector<RowArrow> arrows;        ///< written as flows of category critical_path
  std::vector<uint8_t> critical;       ///< per row: 1 gives it the argument "critical"; empty: none
};

/// Writes `table` to `path` (compressed for ".gz", "-" is stdout). Rows come by lane and time, so that what encloses
/// comes first. No two slices of a track overlap unless one encloses the other. Errors: kFailed when the file cannot be
/// written.
Status write_chrome_trace(const EventTable& table, const std::string& path, const ChromeOptions& options);

}  // namespace lumos

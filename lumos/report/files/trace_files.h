// Runs of a job as trace files: for the Perfetto UI, for people to share, for this program's own reader. Measured and
// replayed runs alike, with curves of utilisation and bandwidth. Written by `lumos replay --out`, `lumos convert` and
// whoever else simulates.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/exec_graph.h"
#include "lumos/sim/timeline.h"
#include "lumos/trace/table/counter_curve.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// What is written of one rank.
struct RankTrace {
  int32_t rank = 0;
  EventTable table;
  std::vector<CounterCurve> counters;
};

/// The whole recorded run of a rank.
RankTrace measured_rank_trace(EventTable table);

/// The replayed steps that results are read from; without any the whole replayed run.
RankTrace replayed_rank_trace(const ExecGraph& graph, const Timeline& timeline, uint32_t rank_index);

/// The end of a trace file's name tells its format. Errors: kUsage naming `option` and the formats when `path` has none
/// of them. Standard output ("-") and devices have no such end: they get Chrome JSON.
Status check_trace_name(std::string_view option, std::string_view path);

/// Writes what `make(i)` gives for i in [0, count), one rank after the other. `path` ending with ".pftrace" gets all
/// ranks in one file; else Chrome JSON, compressed for ".gz", one file per rank: "out.json.gz" for a single rank,
/// "out-rank3.json.gz" for one of several. Returns the files written. Errors: kFailed when one cannot be written.
Result<std::vector<std::string>> write_trace_files(size_t count, const std::function<RankTrace(size_t)>& make,
                                                   const std::string& path);

/// Whether `file` is what one of several ranks gets where `path` is asked for.
bool is_file_of_rank(const std::string& file, const std::string& path);

/// The replayed steps of every rank of `graph`.
Result<std::vector<std::string>> write_replayed_trace(const ExecGraph& graph, const Timeline& timeline,
                                                      const std::string& path);

}  // namespace lumos

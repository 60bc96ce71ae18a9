// A simulated run as trace files, for the Perfetto UI: the chosen steps of every rank, with curves of utilisation and
// bandwidth. Written by `lumos replay --out` and whoever else simulates.
#pragma once

#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/exec_graph.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// Writes the steps that results are read from (without any: the whole run). `path` ending with ".pftrace" gets all
/// ranks in one file; else Chrome JSON, compressed for ".gz", one file per rank: "out.json.gz" for a single rank,
/// "out-rank3.json.gz" for one of several. Returns the files written. Errors: kFailed when one cannot be written.
Result<std::vector<std::string>> write_replayed_trace(const ExecGraph& graph, const Timeline& timeline,
                                                      const std::string& path);

}  // namespace lumos

// A job as the commands see it: all ranks linked into one graph, with what was matched and what could not be read. Made
// from traces or from a graph file; every command that takes a folder of traces starts here.
#pragma once

#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/job/link.h"
#include "lumos/graph/match/match.h"
#include "lumos/graph/match/transfer.h"
#include "lumos/graph/rank/build.h"
#include "lumos/trace/kineto/reader.h"

namespace lumos {

struct LinkedJob {
  LinkedGraph linked;
  JobMatches matches;
  TransferColumns transfers;
  std::vector<TraceSet::Failure> failures;  ///< traces that could not be read; empty from a graph file

  /// Per rank, what to add to its trace time to get the lowest rank's clock.
  std::vector<int64_t> clock_offsets_ns() const;
};

struct JobOptions {
  ReadOptions read;
  BuildOptions build;
  MatchOptions match;
};

/// Builds, matches and links ranks that are already read. Tables are sorted by rank. Ranks in parallel. Once
/// options.read.stop is asked for, the job comes back empty.
LinkedJob link_job(std::vector<EventTable> tables, const JobOptions& options);

/// Reads what `paths` mean: traces and folders of them, or graph files. Several graph files, as `lumos link --shard`
/// writes them, are linked anew into one job. Errors: kUnreadable as of read_traces and read_graph_file, and when two
/// graph files hold the same rank; kUsage when graph files are given together with traces.
Result<LinkedJob> load_job(const std::vector<std::string>& paths, const JobOptions& options);

}  // namespace lumos

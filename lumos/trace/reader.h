// Reads Kineto traces: bytes in, EventTable out. Any producer, any size, damaged or not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/trace/event_table.h"

namespace lumos {

struct ReadOptions {
  int threads = 0;          ///< parsing workers; 0: the processors of this machine
  bool strict = false;      ///< whatever would be repaired or skipped is an error instead
  std::string rank_regex;   ///< first capture group of a match in the file's path is the rank
};

/// Reads one trace file (.json, .json.gz, .json.zst by content, not by name; "-" is stdin).
/// Errors: kUnreadable with what the file is, where reading stopped and what to do next.
Result<EventTable> read_trace(const std::string& path, const ReadOptions& options);

/// The trace files that `paths` mean: files as they are, folders with the traces directly in them, in rank order where
/// known by name. Errors: kUnreadable when a path does not exist or a folder has no traces.
Result<std::vector<std::string>> find_traces(const std::vector<std::string>& paths);

/// Several traces of one job. `tables` are sorted by rank; unreadable files are in `failures` and lose nothing else.
struct TraceSet {
  std::vector<EventTable> tables;
  struct Failure {
    std::string file;
    Error error;
  };
  std::vector<Failure> failures;
};

/// Reads all traces that `paths` mean, in parallel. Ranks that the files do not tell are numbered after those that
/// they do. Errors: kUnreadable when nothing could be read or two files claim one rank; kUsage for a bad rank_regex.
Result<TraceSet> read_traces(const std::vector<std::string>& paths, const ReadOptions& options);

}  // namespace lumos

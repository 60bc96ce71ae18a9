// Reads Kineto traces: bytes in, EventTable out. Any producer, any size, damaged or not. What is repaired: control
// bytes, bad UTF-8, bare quotes and backslashes, missing quotes, commas and NaN inside events; durations that are
// negative, over a day or missing are read as 0. What is skipped: events that no repair makes readable, events without
// a start, and GPU work whose ts and dur are both 0, because it has no place in time. All of it is counted in
// TraceInfo::issues. Parts of the file that nobody reads (arguments, Python frames) are not looked into. The stages:
// ByteSource -> Splitter -> EventParser (parallel) -> TableBuilder. Read by every command.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// Large enough that handing blocks around costs nothing, small enough that a block stays in a core's cache.
inline constexpr size_t kReadBlockBytes = 512 * 1024;

struct ReadOptions {
  int threads = 0;         ///< workers in all; 0: the processors of this machine
  bool strict = false;     ///< whatever would be repaired or skipped is an error instead
  std::string rank_regex;  ///< first capture group of a match in the file's path is the rank
  std::stop_token stop;    ///< once asked for, reading ends at the next block with kInterrupted
  size_t block_bytes =
      kReadBlockBytes;  ///< how much text one worker parses at a time; the result does not depend on it
};

/// Reads one trace file (.json, .json.gz, .json.zst by content, not by name; "-" is stdin).
/// Errors: kUnreadable with what the file is, where reading stopped and what to do next.
/// The rank is distributedInfo's, else the file name's, and rank_regex overrides both; -1 when none tells.
Result<EventTable> read_trace(const std::string& path, const ReadOptions& options);

/// The same without looking for the rank outside of the file.
Result<EventTable> read_trace_file(const std::string& path, const ReadOptions& options);

/// Reads a trace that is already in memory, compressed or not. `label` stands for the file in messages.
Result<EventTable> read_trace_bytes(std::string_view bytes, const std::string& label, const ReadOptions& options);

/// Whether a file is a trace, from its text up to the first events: metadata may come before them, other JSON has none.
/// A file that breaks off before it tells counts as one. Used for folders, where other files lie beside the traces.
Result<bool> looks_like_trace(const std::string& path);

/// Whether a name ends as traces in a folder do: .json, .json.gz or .json.zst.
bool has_trace_suffix(std::string_view name);

/// The trace files that `paths` mean: files as they are, folders with the traces directly in them, in rank order where
/// known by name. Errors: kUnreadable when a path does not exist or a folder has no traces.
Result<std::vector<std::string>> find_traces(const std::vector<std::string>& paths);

/// Several traces of one job. `tables` are sorted by rank; unreadable files are in `failures` and lose nothing else;
/// when reading is strict there are none, as the first is the error.
struct TraceSet {
  std::vector<EventTable> tables;
  struct Failure {
    std::string file;
    Error error;
  };
  std::vector<Failure> failures;
};

/// Reads all traces that `paths` mean, in parallel. Ranks that the files do not tell are numbered after those that
/// they do. Errors: kUnreadable when nothing could be read or two files claim one rank; kUsage for a bad rank_regex or
/// one that finds a rank in none of the paths.
Result<TraceSet> read_traces(const std::vector<std::string>& paths, const ReadOptions& options);

}  // namespace lumos

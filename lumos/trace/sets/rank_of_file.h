// Which rank a trace file belongs to, as far as its path tells. Used by trace/sets/trace_set where the file itself does
// not say.
#pragma once

#include <optional>
#include <regex>
#include <string>

#include "lumos/base/result.h"

namespace lumos {

/// The rank in names as people give them: rank12, rank-12, rank_12, Rank 12 (in the file's name, then in its folder's),
/// x.12.pt.trace.json, 12.json.gz. Host names, process ids and timestamps of the profiler's own names do not count.
std::optional<int32_t> rank_of_file_name(const std::string& path);

/// The pattern of --rank-regex. Errors: kUsage when it is no regular expression or captures nothing.
Result<std::regex> compile_rank_regex(const std::string& pattern);

/// The first capture group of a match anywhere in `path`, if it is a number.
std::optional<int32_t> rank_by_regex(const std::regex& pattern, const std::string& path);

}  // namespace lumos

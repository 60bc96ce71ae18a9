// Graph files: a linked job with its event tables on disk, so that a second question costs no parsing. One file of
// sections, each a column, aligned to 64 bytes and checksummed, so that it can be mapped and read in place.
#pragma once

#include <cstdint>
#include <string>

#include "lumos/base/result.h"

namespace lumos {

struct LinkedJob;

/// Raised whenever the layout of any column changes. Files of another version are refused, never guessed at.
inline constexpr uint32_t kGraphFileVersion = 2;

/// True if `path` is a regular file that begins as graph files do.
bool is_graph_file(const std::string& path);

/// Writes beside `path` first and then renames. The same job gives the same bytes. Errors: kFailed with the reason.
Status write_graph_file(const LinkedJob& job, const std::string& path);

/// Reads and checks a graph file: length, version, byte order, checksum of every section, and that ids point inside
/// their columns. Errors: kUnreadable with what is wrong.
Result<LinkedJob> read_graph_file(const std::string& path);

}  // namespace lumos

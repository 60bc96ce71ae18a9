// Small files as a whole: job files, results, schemas. Traces are streamed by trace/ instead.
#pragma once

#include <string>
#include <string_view>

#include "lumos/base/result.h"

namespace lumos {

/// The content of a file. Errors: kUnreadable with the file's name and the system's reason.
Result<std::string> read_file(const std::string& path);

/// Writes `content` beside `path` first and then renames, so that nobody sees half a file. "-" is stdout.
/// Errors: kFailed with the file's name and the system's reason.
Status write_file(const std::string& path, std::string_view content);

}  // namespace lumos

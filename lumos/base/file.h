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

/// Devices, pipes and links (/dev/null, /dev/stdout, process substitution): to be written to, not replaced.
bool is_special_file(const std::string& path);

/// Where `path` is written until it is whole: beside it, so that a rename puts it in place; one name per process.
std::string draft_name(const std::string& path);
/// Puts a draft in place, or removes it. Errors: kFailed with the system's reason.
Status rename_draft(const std::string& draft, const std::string& path);

}  // namespace lumos

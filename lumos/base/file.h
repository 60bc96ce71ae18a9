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

/// Devices, pipes and links to them (/dev/null, /dev/stdout, process substitution): to be written to, not replaced.
bool is_special_file(const std::string& path);

/// A file until it is whole: written beside where it will be, then put in place by a rename, so that nobody sees half
/// of it. Where `path` is a link, the file that it leads to is replaced and the link stays. What is not put in place
/// goes with the object, or with remove_drafts().
class Draft {
 public:
  explicit Draft(const std::string& path);
  ~Draft() { remove(); }
  Draft(Draft&& other) noexcept : target_(std::move(other.target_)), name_(std::move(other.name_)) {
    other.name_.clear();
  }
  Draft& operator=(Draft&&) = delete;

  /// To be written to.
  const std::string& name() const { return name_; }
  /// Errors: kFailed with the system's reason.
  Status put_in_place();

 private:
  void remove();

  std::string target_;
  std::string name_;  // empty once in place
};

/// Unlinks all drafts of the process. Only async-signal-safe calls: for whoever ends it at once.
void remove_drafts();

}  // namespace lumos

// A folder for the time of one object: private to the user, with a name that nobody can know before. Made by whoever
// writes what is not a result.
#pragma once

#include <filesystem>
#include <string>

#include "lumos/base/result.h"

namespace lumos {

class ScratchFolder {
 public:
  /// Makes `$TMPDIR/PREFIX-XXXXXX` with a random ending; only its owner can look into it. Errors: kFailed with the
  /// system's reason.
  static Result<ScratchFolder> make(const std::string& prefix);
  /// Takes the folder away, with all that is in it.
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ScratchFolder& operator=(ScratchFolder&&) = delete;

  std::string file(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace lumos

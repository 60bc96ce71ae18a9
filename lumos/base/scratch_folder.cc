#include "lumos/base/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace lumos {

// mkdtemp makes the folder with mode 0700 and fails where a name is taken: what somebody put there first is never used.
Result<ScratchFolder> ScratchFolder::make(const std::string& prefix) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) return fail(ErrorKind::kFailed, "no folder for temporary files ({}); set TMPDIR", error.message());
  std::string pattern = (parent / (prefix + "-XXXXXX")).string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return fail(ErrorKind::kFailed, "{}: cannot make a folder there: {}; set TMPDIR", parent.string(),
                std::strerror(errno));
  }
  return ScratchFolder(pattern);
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace lumos

// A folder of a test's own: no two tests share one, so all may run at the same time. Tests only.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lumos/base/file.h"
#include "lumos/base/result.h"
#include "lumos/base/scratch_folder.h"

namespace lumos {

/// Made with the object and gone with it.
class TempFolder {
 public:
  TempFolder() : folder_(made()) {}

  /// A name in the folder; "" is the folder itself.
  std::string path(const std::string& name) const {
    return name.empty() ? folder_.path().string() : folder_.file(name);
  }
  /// Writes a file, with its folders. Returns its path.
  std::string write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    CHECK(write_file(path(name), content).has_value());
    return path(name);
  }

 private:
  static ScratchFolder made() {
    Result<ScratchFolder> folder = ScratchFolder::make("lumos-test");
    CHECK(folder.has_value());
    return std::move(*folder);
  }
  ScratchFolder folder_;
};

}  // namespace lumos

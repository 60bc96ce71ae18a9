// A folder of a test's own: no two tests share one, so all may run at the same time. Tests only.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "lumos/base/file.h"
#include "lumos/base/result.h"

namespace lumos {

/// Made with the object, with a name that nobody has, and gone with it.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lumos-test-XXXXXX").string();
    CHECK(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  /// A name in the folder; "" is the folder itself.
  std::string path(const std::string& name) const {
    return name.empty() ? folder_.string() : (folder_ / name).string();
  }
  /// Writes a file, with its folders. Returns its path.
  std::string write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    CHECK(write_file(path(name), content).has_value());
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace lumos

// Files that tests make: a folder that goes away with its object, and compressed text. Tests only.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "lumos/trace/output_file.h"

namespace lumos {

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

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// Writes a file, with its folders; compressed when the name ends with .gz. Returns its path.
  std::string write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    auto file = OutputFile::open(path(name));
    CHECK(file.has_value());
    file->write(content);
    CHECK(file->close().has_value());
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

inline std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::string gzipped(std::string_view text) {
  TempFolder folder;
  return file_bytes(folder.write("text.gz", text));
}

}  // namespace lumos

// Files that tests make: compressed or not, and their bytes. Tests only.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "lumos/base/test_folder.h"
#include "lumos/trace/write/output_file.h"

namespace lumos {

/// A test's folder whose files are compressed when their names say so.
class TraceFolder : public TempFolder {
 public:
  /// Writes a file, with its folders; compressed when the name ends with .gz. Returns its path.
  std::string write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    auto file = OutputFile::open(path(name));
    CHECK(file.has_value());
    file->write(content);
    CHECK(file->close().has_value());
    return path(name);
  }
};

inline std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::string gzipped(std::string_view text) {
  TraceFolder folder;
  return file_bytes(folder.write("text.gz", text));
}

}  // namespace lumos

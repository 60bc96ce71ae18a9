#include "lumos/cli/arguments/config_file.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace lumos {

namespace {

namespace fs = std::filesystem;

std::string known_names(const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The folder of the program or shared library that this code is part of: a Python package brings its own configs.
fs::path folder_of_this_code() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(&folder_of_this_code), &info) == 0 || info.dli_fname == nullptr) return {};
  return fs::path(info.dli_fname).parent_path();
}

}  // namespace

std::vector<std::string> config_folders(std::string_view kind) {
  std::vector<fs::path> roots;
  if (const char* set = std::getenv("LUMOS_CONFIGS")) roots.emplace_back(set);
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    const fs::path folder = program.parent_path();
    roots.push_back(folder / "configs");
    roots.push_back(folder.parent_path() / "configs");
    roots.push_back(folder.parent_path() / "share" / "lumos" / "configs");
  }
  if (const fs::path folder = folder_of_this_code(); !folder.empty()) roots.push_back(folder / "configs");
  std::vector<std::string> folders;
  for (const fs::path& root : roots) {
    std::error_code ignored;
    if (fs::is_directory(root / kind, ignored)) folders.push_back((root / kind).string());
  }
  return folders;
}

Result<std::string> find_config(std::string_view kind, const std::string& word) {
  return find_config_in(config_folders(kind), kind, word);
}

Result<std::string> find_config_in(const std::vector<std::string>& folders, std::string_view kind,
                                   const std::string& word) {
  std::error_code ignored;
  if (fs::is_regular_file(word, ignored)) return word;
  // A name has no folder in it; what has one was meant as a path.
  if (word.find('/') == std::string::npos) {
    for (const std::string& folder : folders) {
      const fs::path path = fs::path(folder) / (word + ".toml");
      if (fs::is_regular_file(path, ignored)) return path.string();
    }
  }
  if (fs::is_directory(word, ignored))
    return fail(ErrorKind::kUnreadable, "{}: this is a folder; name a file in it", word);
  const std::string names = known_names(folders);
  if (names.empty() && word.find('/') == std::string::npos) {
    return fail(ErrorKind::kUnreadable,
                "{}: no such file, and the {} that come with Lumos were not found: their folder configs/ is neither "
                "beside the program nor in share/lumos of its installation; name it with LUMOS_CONFIGS",
                word, kind);
  }
  return fail(ErrorKind::kUnreadable, "{}: no such file, and no {} of that name{}", word,
              kind == "clusters" ? "cluster" : "job", names.empty() ? "" : "; there are " + names);
}

}  // namespace lumos

#include "lumos/cli/arguments/output_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "lumos/base/file.h"
#include "lumos/cli/arguments/input_files.h"
#include "lumos/trace/kineto/reader.h"

namespace lumos {

namespace {

namespace fs = std::filesystem;

/// Names of the traces in the folder, sorted; none where there is no folder.
std::vector<std::string> traces_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (has_trace_suffix(name) && !it->is_directory(ignored)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status check_output_file(const std::string& path) {
  if (path.empty() || path == "-") return {};
  std::error_code error;
  const auto cannot = [&](int reason) {
    return fail(ErrorKind::kFailed, "{}: cannot write: {}", path, std::strerror(reason));
  };
  if (fs::is_directory(path, error)) return cannot(EISDIR);
  if (is_special_file(path)) return {};
  const std::string folder = fs::path(path).parent_path().string();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) return cannot(errno);
  return {};
}

}  // namespace

Status check_output_files(const Command& command) {
  for (const Option& option : command.options) {
    if (names_output(option)) TRY_STATUS(check_output_file(*std::get<std::string*>(option.target)));
  }
  return {};
}

Result<std::vector<std::string>> prepare_trace_folder(const std::string& folder, const std::vector<std::string>& files,
                                                      const FolderMark& mark, bool force) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(ErrorKind::kFailed, "{}: cannot make this folder: {}", folder, error.message());
  const std::vector<std::string> present = traces_in(folder);
  std::vector<std::string> staying;
  for (const std::string& name : present) {
    if (std::find(files.begin(), files.end(), name) == files.end()) staying.push_back(name);
  }
  if (force || present.empty()) return staying;
  if (!staying.empty()) {
    return fail(ErrorKind::kUsage,
                "{}: there are other traces in it, {}{}, which would be read as ranks of the same job; name another "
                "folder, empty this one, or write beside them with --force",
                folder, staying.front(), staying.size() > 1 ? fmt::format(" and {} more", staying.size() - 1) : "");
  }
  const std::string mark_path = folder + "/" + mark.name;
  if (!fs::exists(mark_path, error)) {
    return fail(ErrorKind::kUsage,
                "{}: {} in it would be overwritten, and nothing shows that it was made by this command (there is no "
                "{}); name another folder, or overwrite with --force",
                folder, present.front(), mark.name);
  }
  const Result<std::string> there = read_file(mark_path);
  if (there && *there == mark.text) return staying;
  return fail(ErrorKind::kUsage,
              "{}: the traces in it, {} first, are those of another job, as {} in it says; name another folder, or "
              "overwrite with --force",
              folder, present.front(), mark.name);
}

}  // namespace lumos

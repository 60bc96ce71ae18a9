#include "lumos/base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace lumos {

namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

Status write_through(const std::string& path, std::string_view content) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) return fail(ErrorKind::kFailed, "{}: cannot write: {}", path, std::strerror(errno));
  const bool written = std::fwrite(content.data(), 1, content.size(), file.get()) == content.size();
  if (std::fclose(file.release()) != 0 || !written) {
    return fail(ErrorKind::kFailed, "{}: cannot write: {}", path, std::strerror(errno));
  }
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) return fail(ErrorKind::kUnreadable, "{}: cannot read: {}", path, std::strerror(errno));
  std::string content;
  char block[64 * 1024];
  errno = 0;
  while (const size_t count = std::fread(block, 1, sizeof block, file.get())) content.append(block, count);
  // A folder opens and then fails to read.
  if (std::ferror(file.get())) return fail(ErrorKind::kUnreadable, "{}: cannot read: {}", path, std::strerror(errno));
  return content;
}

Status write_file(const std::string& path, std::string_view content) {
  if (path == "-") return write_through("/dev/stdout", content);
  if (is_special_file(path)) return write_through(path, content);
  const std::string draft = draft_name(path);
  if (Status status = write_through(draft, content); !status) {
    unlink(draft.c_str());
    return fail(ErrorKind::kFailed, "{}: cannot write: {}", path, std::strerror(errno));
  }
  return rename_draft(draft, path);
}

bool is_special_file(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

std::string draft_name(const std::string& path) { return fmt::format("{}.{}.part", path, getpid()); }

Status rename_draft(const std::string& draft, const std::string& path) {
  if (std::rename(draft.c_str(), path.c_str()) == 0) return {};
  const int reason = errno;
  unlink(draft.c_str());
  return fail(ErrorKind::kFailed, "{}: cannot write: {}", path, std::strerror(reason));
}

}  // namespace lumos

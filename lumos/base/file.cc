#include "lumos/base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
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

constexpr int kMostLinks = 40;  // as the kernel follows

/// The file that `path` leads to, itself where it is no link; it need not exist.
std::string link_target(const std::string& path) {
  namespace fs = std::filesystem;
  fs::path at = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(at, error)); ++i) {
    const fs::path next = fs::read_symlink(at, error);
    if (error) break;
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return at.string();
}

/// /dev/stdout and its like: what is behind belongs to whoever opened it.
bool leads_to_a_descriptor(const std::string& path) {
  namespace fs = std::filesystem;
  fs::path at = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(at, error)); ++i) {
    if (at.string().starts_with("/dev/") || at.string().starts_with("/proc/")) return true;
    const fs::path next = fs::read_symlink(at, error);
    if (error) return false;
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return at.string().starts_with("/dev/") || at.string().starts_with("/proc/");
}

// The drafts of this process, for a handler that may not allocate: the name of each, or null. What finds no slot stays
// behind when the process is ended, and is named .part.
constexpr size_t kDraftSlots = 256;
std::array<std::atomic<char*>, kDraftSlots> draft_slots;

void remember_draft(const std::string& name) {
  char* copy = strdup(name.c_str());
  for (std::atomic<char*>& slot : draft_slots) {
    char* empty = nullptr;
    if (slot.compare_exchange_strong(empty, copy)) return;
  }
  std::free(copy);
}

void forget_draft(const std::string& name) {
  for (std::atomic<char*>& slot : draft_slots) {
    char* there = slot.load();
    if (there == nullptr || name != there || !slot.compare_exchange_strong(there, nullptr)) continue;
    std::free(there);
    return;
  }
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
  Draft draft(path);
  if (Status status = write_through(draft.name(), content); !status) {
    return fail(ErrorKind::kFailed, "{}: cannot write: {}", path, std::strerror(errno));
  }
  return draft.put_in_place();
}

bool is_special_file(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return false;
  if (S_ISLNK(status.st_mode) && leads_to_a_descriptor(path)) return true;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

Draft::Draft(const std::string& path) : target_(link_target(path)) {
  static std::atomic<uint32_t> count{0};
  name_ = fmt::format("{}.{}-{}.part", target_, getpid(), count++);
  remember_draft(name_);
}

Status Draft::put_in_place() {
  if (std::rename(name_.c_str(), target_.c_str()) == 0) {
    forget_draft(name_);
    name_.clear();
    return {};
  }
  const int reason = errno;
  remove();
  return fail(ErrorKind::kFailed, "{}: cannot write: {}", target_, std::strerror(reason));
}

void Draft::remove() {
  if (name_.empty()) return;
  unlink(name_.c_str());
  forget_draft(name_);
  name_.clear();
}

void remove_drafts() {
  for (std::atomic<char*>& slot : draft_slots) {
    if (char* name = slot.load()) unlink(name);
  }
}

}  // namespace lumos

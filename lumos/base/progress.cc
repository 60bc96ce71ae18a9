#include "lumos/base/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "lumos/base/utf8.h"

namespace lumos {

namespace {

constexpr size_t kColumns = 79;  // A longer line would wrap and could not be rewritten.
constexpr std::chrono::milliseconds kRefresh{100};

bool can_rewrite_lines() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace

Progress::Progress() : enabled_(can_rewrite_lines()) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::show(std::string_view text) {
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (shown_ && now - last_ < kRefresh) return;
  shown_ = true;
  last_ = now;
  const std::string line = terminal_line(text);
  const int length = static_cast<int>(std::min(line.size(), kColumns));
  std::fprintf(stderr, "\r\033[K%.*s", length, line.c_str());
  std::fflush(stderr);
}

}  // namespace lumos

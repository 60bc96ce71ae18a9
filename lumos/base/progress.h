// One line about what is going on, rewritten in place, for somebody who watches a terminal. Made by commands that may
// take more than a moment; into a file or a pipe nothing is written, because stderr there is a log.
#pragma once

#include <chrono>
#include <mutex>
#include <string_view>

namespace lumos {

/// Safe to use from several threads. The line is gone when the object is.
class Progress {
 public:
  /// Shows on stderr if that is a terminal that can rewrite a line.
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Replaces the line. Calls sooner than a tenth of a second after the last shown one do nothing.
  void show(std::string_view text);

 private:
  bool enabled_;
  std::mutex mutex_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace lumos

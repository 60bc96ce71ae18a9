// Work that takes longer than a person's patience: runs beside the interpreter, which meanwhile serves other threads,
// shows that something goes on, and looks for ctrl-C. Used by every binding that reads or simulates.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lumos/cli/command.h"
#include "python/failure.h"

namespace lumos {

/// How often ctrl-C is looked for: a person does not notice a tenth of a second.
inline constexpr std::chrono::milliseconds kLookInterval{50};

/// What the work says while it runs; told as warnings when it has ended, because they need the interpreter.
struct Notes {
  std::mutex mutex;
  std::vector<std::string> lines;
};

/// A console for the work: notes are kept, printed data goes to `printed`.
inline Console console_of(const std::shared_ptr<Notes>& notes, std::string* printed) {
  return {[printed](std::string_view text) {
            if (printed != nullptr) *printed += text;
          },
          [notes](std::string_view line) {
            const std::lock_guard lock(notes->mutex);
            notes->lines.emplace_back(line);
          }};
}

/// Warns with each note, and shows `label` and the seconds while somebody waits: see lumos/progress.py.
void warn(const Notes& notes);
void show_progress(const std::string& label, double seconds);
void end_progress();

/// The result of work(console), a Result<T>. Errors are thrown as Failure. On ctrl-C the call ends at once with what
/// the signal's handler raises (KeyboardInterrupt); the work, which can be stopped nowhere in the middle, comes to its
/// end unseen. So it may hold nothing that belongs to the caller: captures by value.
template <class Work>
auto long_call(const std::string& label, Work work) {
  using Returned = decltype(work(std::declval<Console&>()));
  struct Shared {
    std::mutex mutex;
    std::condition_variable done;
    std::optional<Returned> result;
  };
  auto shared = std::make_shared<Shared>();
  auto notes = std::make_shared<Notes>();
  const auto begin = std::chrono::steady_clock::now();
  std::thread([shared, notes, work = std::move(work)]() mutable {
    Console console = console_of(notes, nullptr);
    Returned result = work(console);
    const std::lock_guard lock(shared->mutex);
    shared->result.emplace(std::move(result));
    shared->done.notify_all();
  }).detach();
  bool shown = false;
  while (true) {
    {
      nanobind::gil_scoped_release released;
      std::unique_lock lock(shared->mutex);
      if (shared->done.wait_for(lock, kLookInterval, [&] { return shared->result.has_value(); })) break;
    }
    if (PyErr_CheckSignals() != 0) {
      nanobind::python_error interrupted;
      if (shown) end_progress();
      throw interrupted;
    }
    shown = true;
    show_progress(label, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  if (shown) end_progress();
  warn(*notes);
  if (!*shared->result) throw Failure(shared->result->error());
  return std::move(**shared->result);
}

}  // namespace lumos

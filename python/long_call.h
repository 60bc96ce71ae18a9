// Work that takes longer than a person's patience: runs beside the interpreter, which meanwhile serves other threads,
// shows that something goes on, and looks for ctrl-C. Used by every binding that reads or simulates.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lumos/cli/arguments/command.h"
#include "python/failure.h"

namespace lumos {

/// How often ctrl-C is looked for: a person does not notice a tenth of a second.
inline constexpr std::chrono::milliseconds kLookInterval{50};

/// How long work that was asked to stop may take to do so. Reading and trying end much sooner, at the next block or
/// trial; the few stages that cannot be stopped in the middle go on unseen and what they give is dropped.
inline constexpr std::chrono::milliseconds kStopPatience{500};

/// What the work says while it runs; told as warnings when it has ended, because they need the interpreter.
struct Notes {
  std::mutex mutex;
  std::vector<std::string> lines;
};

/// A console for the work: notes are kept, what it prints is for those who set `print`.
inline Console console_of(const std::shared_ptr<Notes>& notes, std::stop_token stop) {
  return {[](std::string_view) {},
          [notes](std::string_view line) {
            const std::lock_guard lock(notes->mutex);
            notes->lines.emplace_back(line);
          },
          std::move(stop)};
}

/// Warns with each note, and shows `label` and the seconds while somebody waits: see lumos/progress.py.
void warn(const Notes& notes);
void show_progress(const std::string& label, double seconds);
void end_progress();

/// work(console), and an error where memory ends: on a thread of its own an exception would end the interpreter.
template <class Work>
auto run_within_memory(Work& work, Console& console) -> decltype(work(console)) {
  try {
    return work(console);
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kFailed, "out of memory; give it fewer files, one rank per stage tells nearly as much");
  }
}

/// The result of work(console), a Result<T>. Errors are thrown as Failure. On ctrl-C the work is asked
/// to stop, through its console, and the call ends with what the signal's handler raises (KeyboardInterrupt), or where
/// the work has more to say about being interrupted, with that. Work that does not stop in time goes on unseen, so it
/// may hold nothing that belongs to the caller: captures by value.
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
  std::stop_source stop;
  const auto begin = std::chrono::steady_clock::now();
  std::thread([shared, notes, token = stop.get_token(), work = std::move(work)]() mutable {
    Console console = console_of(notes, std::move(token));
    Returned result = run_within_memory(work, console);
    const std::lock_guard lock(shared->mutex);
    shared->result.emplace(std::move(result));
    shared->done.notify_all();
  }).detach();
  const auto ends_within = [&](std::chrono::milliseconds patience) {
    const nanobind::gil_scoped_release released;
    std::unique_lock lock(shared->mutex);
    return shared->done.wait_for(lock, patience, [&] { return shared->result.has_value(); });
  };
  bool shown = false;
  while (!ends_within(kLookInterval)) {
    if (PyErr_CheckSignals() != 0) {
      const bool by_ctrl_c = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0;
      nanobind::python_error interrupted;
      stop.request_stop();
      const bool ended = ends_within(kStopPatience);
      if (shown) end_progress();
      if (by_ctrl_c && ended && !*shared->result && shared->result->error().kind == ErrorKind::kInterrupted) {
        throw Failure(shared->result->error());
      }
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

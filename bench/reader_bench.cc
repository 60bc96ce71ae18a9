// How fast traces are read, and in how much memory: the claims of trace/reader.h with the command that shows them.
//   reader_bench [SIZE_GB] [FOLDER]      (1 GB of JSON in /tmp; the file is removed again)
// Every measurement runs in a process of its own, so that its peak memory is that of reading alone.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "bench/synthetic_trace.h"
#include "lumos/trace/kineto/reader.h"

namespace {

using namespace lumos;

constexpr double kTargetGbPerSecond = 0.8;  // of decoded JSON, from .json.gz, on two cores
constexpr double kFixedBytes = 64.0 * 1024 * 1024;
constexpr double kTargetBytesPerEvent = 64;

int measure(const std::string& path, int threads) {
  ReadOptions options;
  options.threads = threads;
  auto begin = std::chrono::steady_clock::now();
  Result<EventTable> table = read_trace(path, options);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!table) {
    fmt::print(stderr, "reader_bench: {}\n", table.error().message);
    return 1;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto gigabytes = static_cast<double>(table->info.decoded_bytes) / 1e9;
  double cpu_seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  double peak_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
  auto rows = static_cast<double>(table->size());
  double budget_bytes = kFixedBytes + kTargetBytesPerEvent * rows;
  fmt::print("{} thread(s): {:.2f} GB in {:.2f} s = {:.2f} GB/s ({:.2f}x the target), {:.2f} GB/s per busy core\n",
             threads, gigabytes, seconds, gigabytes / seconds, gigabytes / seconds / kTargetGbPerSecond,
             gigabytes / cpu_seconds);
  fmt::print("  {} kept of {} events, peak {:.0f} MB = {:.2f}x the budget, {:.1f} bytes per kept event\n",
             table->size(), table->info.events, peak_bytes / 1e6, peak_bytes / budget_bytes,
             peak_bytes / std::max(1.0, rows));
  return 0;
}

template <class Body>
int in_child(Body body) {
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    int code = body();
    std::fflush(stdout);
    _exit(code);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  double size_gb = argc > 1 && std::atof(argv[1]) > 0 ? std::atof(argv[1]) : 1.0;
  std::string folder = argc > 2 ? argv[2] : std::filesystem::temp_directory_path().string();
  std::string path = fmt::format("{}/lumos-reader-bench-{}.json.gz", folder, getpid());
  int code = in_child([&] {
    Result<uint64_t> events = SyntheticTrace::write(path, static_cast<uint64_t>(size_gb * 1e9));
    if (!events) fmt::print(stderr, "reader_bench: {}\n", events.error().message);
    return events ? 0 : 1;
  });
  if (code == 0) {
    std::error_code ignored;
    fmt::print("synthetic trace: {:.0f} MB compressed\n",
               static_cast<double>(std::filesystem::file_size(path, ignored)) / 1e6);
  }
  for (int threads : {1, 2}) {
    if (code == 0) code = in_child([&] { return measure(path, threads); });
  }
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return code;
}

#include "lumos/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace lumos {

int default_threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

void parallel_for(size_t count, int threads, const std::function<void(size_t)>& body, const std::stop_token& stop) {
  size_t workers = static_cast<size_t>(threads > 0 ? threads : default_threads());
  workers = std::min(workers, count);
  if (workers <= 1) {
    for (size_t i = 0; i < count && !stop.stop_requested(); ++i) body(i);
    return;
  }
  std::atomic<size_t> next{0};
  run_workers(workers, [&] {
    for (size_t i = next.fetch_add(1); i < count && !stop.stop_requested(); i = next.fetch_add(1)) body(i);
  });
}

void run_workers(size_t workers, const std::function<void()>& work) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  std::vector<std::thread> pool;
  pool.reserve(workers);
  try {
    for (size_t w = 1; w < workers; ++w) pool.emplace_back(guarded);
  } catch (const std::system_error&) {
    // The system gives no more threads, as under `ulimit -u`: those that are there do it all.
  }
  guarded();
  for (std::thread& thread : pool) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace lumos

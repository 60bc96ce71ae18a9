// Parallel loops over independent items, for whoever has many ranks, blocks or configurations.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace lumos {

/// Number of workers to use when the caller asks for 0: the processors of this machine.
int default_threads();

/// Runs body(i) for i in [0, count) on up to `threads` workers (0: default_threads()). Items are handed out one by
/// one in increasing order; the call returns when all are done. A body throws only where memory ends; the first such
/// exception comes out here once all workers have stopped. Once `stop` is asked for, items that have not begun are left
/// out: whoever asked throws the answer away.
void parallel_for(size_t count, int threads, const std::function<void(size_t)>& body, const std::stop_token& stop = {});

/// Runs work() on `workers` threads at once, this one among them, or on as many as the system gives. Exceptions as
/// above.
void run_workers(size_t workers, const std::function<void()>& work);

}  // namespace lumos

// Parallel loops over independent items, for whoever has many ranks, blocks or configurations.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace lumos {

/// Number of workers to use when the caller asks for 0: the processors of this machine.
int default_threads();

/// Runs body(i) for i in [0, count) on up to `threads` workers (0: default_threads()). Items are handed out one by
/// one in increasing order; the call returns when all are done. The body must not throw. Once `stop` is asked for,
/// items that have not begun are left out: whoever asked throws the answer away.
void parallel_for(size_t count, int threads, const std::function<void(size_t)>& body, const std::stop_token& stop = {});

}  // namespace lumos

// How long each GPU task of a timeline ran beside work of the other sort on its rank: compute beside transfers,
// transfers beside compute. Read by sim/interference.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// Nanoseconds per task; 0 for tasks that are neither compute nor transfer. O(tasks log tasks).
std::vector<int64_t> overlaps(const ExecGraph& graph, const Timeline& timeline);

/// True for kernels, copies and fills that are no communication.
constexpr bool is_compute_task(TaskKind kind) {
  return kind == TaskKind::kKernel || kind == TaskKind::kMemcpy || kind == TaskKind::kMemset;
}

}  // namespace lumos

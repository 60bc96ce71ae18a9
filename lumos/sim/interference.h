// Interference: compute kernels take longer while transfers run beside them, and transfers while compute does. Measured
// durations already contain what was measured beside them; a changed run gets what is beside it then. Fitted on the
// measured job, applied to the simulated overlap. Read by predictions; strict replay stays a static pass.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// Kernels that suffer alike.
enum class LoadClass : uint8_t { kMatrix, kMemory, kTransfer, kCount };

/// Nanoseconds that a task gets longer per nanosecond of overlap, by class: f / (1 + f) where f is the slow-down while
/// both run. 0 where the job shows none or too little to tell.
struct Interference {
  std::array<double, static_cast<size_t>(LoadClass::kCount)> longer_per_overlap{};
  std::array<uint64_t, static_cast<size_t>(LoadClass::kCount)> samples{};
};

/// Compares tasks that do equal work with more and with less beside them: least squares over the deviations from each
/// group's mean, of durations by overlap and of speeds by the overlapped share, and the smaller of both slow-downs.
/// `timeline` is the strict replay of `graph`. Tasks that do equal work are told by kernel and launch configuration; a
/// `place` per row of the table of a graph of one rank tells more: those of different places are never equal.
/// O(tasks log tasks).
Interference fit_interference(const ExecGraph& graph, const Timeline& timeline,
                              const std::vector<uint32_t>& place = {});

/// Simulates `changed` (same tasks and numbering as `base`, other durations) with durations corrected for the overlap
/// that arises: duration + longer_per_overlap * (overlap now - overlap scaled from the base). A fixed point, a few
/// passes. Durations of `changed` are left corrected. Deterministic.
Timeline simulate_with_interference(const ExecGraph& base, const Timeline& base_timeline, ExecGraph& changed,
                                    const Interference& interference);

/// What a task of a lowered graph suffers and causes; a column of what simulate_with_loads is given.
struct TaskLoad {
  LoadClass load = LoadClass::kCount;  ///< kCount: neither
  int64_t contained_ns = 0;            ///< overlap whose slow-down the duration already holds
  int64_t waiting_ns = 0;              ///< of a transfer's duration: spent waiting, which slows nobody
};

/// Simulates `graph` with durations corrected for the overlap that arises, as above. `loads` is parallel to its tasks.
/// Durations of `graph` are left corrected.
Timeline simulate_with_loads(ExecGraph& graph, const std::vector<TaskLoad>& loads, const Interference& interference);

/// The class of row `row` of `table`, which runs as a task of `kind`.
LoadClass load_class(const EventTable& table, uint32_t row, TaskKind kind);

}  // namespace lumos

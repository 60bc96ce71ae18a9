// What a step was waiting for: the walk from its end back to its start along the binding dependencies of a timeline.
// The pieces join without gap or overlap, so they sum to the step to the nanosecond. Read by replay (what the replay
// leaves unexplained), by the critical-path command and by the HTML report.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/report/figures/steps.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// Why time passed on the critical path.
enum class PathCause : uint8_t {
  kCompute,        ///< a kernel, copy or fill that is no communication
  kCommunication,  ///< a communication kernel
  kWaitForRank,    ///< work of another rank, which this rank's collective waited for
  kLaunch,         ///< from a launch call to its kernel on an idle stream
  kDispatch,       ///< between kernels: the stream's own gap, waits between streams, issue order
  kHost,           ///< a CPU operator's own time
  kCall,           ///< a runtime call's own time
  kUntracedHost,   ///< CPU time between the events of a thread
  kSync,         ///< from the end of GPU work to the return of the call that waited for it; thread to thread hand-over
  kUnexplained,  ///< time that no dependency explains
  kCount,
};
std::string_view path_cause_name(PathCause cause);

/// One stretch of the path. Dependencies that take time (a launch latency) are pieces of the task that waited.
struct PathPiece {
  uint32_t task = kNoIndex;
  int64_t from_ns = 0;  ///< on the timeline's clock
  int64_t to_ns = 0;
  PathCause cause = PathCause::kUnexplained;
  uint32_t edge = kNoIndex;  ///< the dependency whose lag this is; kNoIndex: the task itself ran
  int64_t length_ns() const { return to_ns - from_ns; }
};

struct CriticalPath {
  Window window;                  ///< of the step on the timeline's clock
  std::vector<PathPiece> pieces;  ///< from the step's start to its end; lengths above 0
  std::vector<uint32_t> tasks;    ///< those whose start within the step decided, in time order, lengths of 0 included
};

/// The rank whose tasks contain `task`. O(log ranks).
uint32_t rank_index_of(const ExecGraph& graph, uint32_t task);

/// The path of `step` of rank `rank_index` in `timeline` (made from `graph`). O(tasks on the path).
CriticalPath critical_path(const ExecGraph& graph, const Timeline& timeline, uint32_t rank_index, const Step& step);

}  // namespace lumos

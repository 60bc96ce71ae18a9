// Lowering: a plan (which block of the program runs where, in which order) becomes an execution graph of the planned
// ranks. Per-thread and per-stream order and the edges between blocks are rebuilt as the original program would have
// made them; transfers between stages become rendezvous.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/exec_graph.h"
#include "lumos/program/blocks/program.h"

namespace lumos {

inline constexpr uint32_t kDropped = UINT32_MAX - 1;  ///< a transfer that does not take place

/// A block to be run, and how its tasks that communicate outside of what is folded meet the other ranks.
struct PlacedBlock {
  uint32_t rank = 0;           ///< index into Program::ranks
  uint32_t block = 0;          ///< index into its blocks
  uint32_t meeting_begin = 0;  ///< into LowerPlan::meeting_of
  uint32_t meeting_end = 0;
  uint32_t needs_begin = 0;  ///< into LowerPlan::needs: meetings whose data the block's first kernel reads
  uint32_t needs_end = 0;
  bool joins_streams =
      false;             ///< its first kernel waits for everything before it, as the end of gradient reduction does
  float gpu_scale = 1;   ///< of the durations of its kernels, copies and fills
  float comm_scale = 1;  ///< of those of its collectives
};

/// A communication kernel of a placed block: its row, and a meeting it goes to or kDropped. One kernel that carries
/// several tensors goes to the meeting of each: it arrives at all and ends when all are over. What it sends shares a
/// link, and so does what it receives, so its transfer takes the longer sum of the two directions.
struct MeetingOf {
  uint32_t row = 0;
  uint32_t meeting = 0;
  bool sends = true;
  bool receives = true;
};

struct PlannedRank {
  int32_t rank = 0;
  std::vector<PlacedBlock> blocks;
};

/// Nanoseconds of every task of every rank program, parallel to RankProgram::tasks.
using TaskDurations = std::vector<std::vector<int64_t>>;

/// What tasks take in a changed job. All parallel to each other.
struct TaskTimes {
  TaskDurations durations;
  TaskDurations waiting_ns;  ///< of the durations
  /// Of collectives among replicas that begin when kernels have ended: how much later the last replica is ready, which
  /// is not in their durations. 0 of all else.
  TaskDurations behind_ns;
};

struct LowerPlan {
  std::vector<PlannedRank> ranks;
  std::vector<MeetingOf> meeting_of;  ///< those of one kernel in a row
  std::vector<uint32_t> needs;
  std::vector<int64_t> meeting_ns;  ///< the transfer of each meeting, once all have arrived
  /// How far the hosts of folded members fall behind, times this: 1 for as many members as in the trace, 0 where the
  /// durations hold all waiting.
  double tensor_lag_growth = 0;
  double data_lag_growth = 0;
  double gpu_tail_scale = 1;  ///< of PeerLag::gpu_tail_ns
  /// Of transfers: by how much later than this rank the last folded member is ready. Null: durations hold all waiting.
  const TaskDurations* behind_ns = nullptr;
  bool threads_hand_over = false;  ///< see Program::threads_hand_over
};

/// Whether the first and the last rank take as long as before when their main and autograd threads hand over to each
/// other between all blocks, which they then do: see Program::threads_hand_over.
bool hand_over_holds(const Program& program);

/// Durations as the trace has them.
TaskDurations measured_durations(const Program& program);

/// The row that a lowered task was copied from; kNoIndex where it has none.
struct TaskOrigin {
  uint32_t rank = 0;  ///< index into Program::ranks
  uint32_t row = kNoIndex;
  uint32_t task = kNoIndex;  ///< index into RankProgram::tasks
  uint32_t block = 0;        ///< index into PlannedRank::blocks
  uint16_t lane = kNoLane;   ///< index into Program::lanes
};

/// O(tasks). The graph has one step per rank, from its first task to its last. `origins`, if given, becomes parallel to
/// its tasks. Errors (kFailed): the planned exchanges wait for each other in a circle, which is a fault of the plan.
Result<ExecGraph> lower(const Program& program, const LowerPlan& plan, const TaskDurations& durations,
                        std::vector<TaskOrigin>* origins = nullptr);

}  // namespace lumos

// The recovered program of a job: every rank's graph cut into blocks (a layer's forward, an exchange between stages,
// one unit of the optimizer ...), each with its host side, its GPU side and what it depends on outside of itself. Made
// by program/lower/cut_blocks from ExecGraphs and their labels; changed and lowered again by program/lower.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/program/recover/recover.h"

namespace lumos {

/// What a block is part of.
enum class BlockRole : uint8_t {
  kInit,
  kForwardEntry,  ///< of a forward pass, before its first layer: input, embedding
  kForwardLayer,
  kForwardExit,    ///< after its last layer: head and loss
  kBackwardEntry,  ///< before the first layer that is differentiated: head and loss
  kBackwardLayer,  ///< with what it recomputes
  kBackwardExit,   ///< embedding
  kExchange,       ///< between pipeline stages
  kGradSync,       ///< one launch of it, like the optimizer
  kOptimizer,      ///< one launch: optimizers repeat the same few kernels per bucket
  kLog,
  kUnplaced,  ///< lowered as it is
};

/// A processor of a rank, the same number on all ranks of a job: threads by what they do, streams by their CUDA number.
struct LaneKey {
  bool is_gpu = false;
  int32_t number = 0;  ///< thread: 0 main, 1 autograd, then by first event; stream: CUDA stream
  auto operator<=>(const LaneKey&) const = default;
};

/// Where a dependency of a block's task comes from.
struct BlockEdge {
  int32_t local = -1;  ///< index of a task of the same block, or
  uint16_t lane = 0;   ///< the task `back` places before the block's first on this lane (index into Program::lanes)
  uint32_t back = 0;
  int32_t lag_ns = 0;
  EdgeKind kind = EdgeKind::kThread;
  bool from_start = false;
  bool recorded = true;
  uint8_t confidence_pct = 100;
};

inline constexpr uint16_t kNoLane = UINT16_MAX;

struct BlockTask {
  uint32_t event = kNoIndex;     ///< row of the rank's table
  uint32_t peer_lag = kNoIndex;  ///< of a kTransfer: into RankProgram::peer_lags
  int64_t duration_ns = 0;
  uint32_t edge_begin = 0;  ///< into RankProgram::edges
  uint32_t edge_end = 0;
  uint16_t lane = kNoLane;  ///< index into Program::lanes
  TaskKind kind = TaskKind::kHost;
};

/// With whom a rank's host falls out of step.
enum class PeerGroup : uint8_t { kTensor, kData };

/// By how much the hosts of a collective's other members fell behind this rank's on the way to it, since the collective
/// of the group before or since the host last waited for the GPU.
struct PeerLag {
  PeerGroup group = PeerGroup::kTensor;
  int64_t step_ns = 0;       ///< negative: this rank's host fell behind
  int64_t host_work_ns = 0;  ///< what this rank's host did meanwhile
  int64_t gpu_tail_ns = 0;   ///< what the last member's GPU still had to do once its host had launched
  int64_t slower_ns = 0;     ///< replicas: by how much more work the slowest of them had since they last met
};

/// Consecutive tasks of one rank with one label.
struct Block {
  BlockRole role = BlockRole::kUnplaced;
  Label label;
  uint32_t pass = kNoIndex;  ///< index into RecoveredRank::passes
  uint32_t task_begin = 0;   ///< into RankProgram::tasks
  uint32_t task_end = 0;
  uint32_t launch_begin = 0;  ///< into RecoveredRank::list
  uint32_t launch_end = 0;
  uint64_t shape = 0;  ///< equal for blocks that launch the same kernels on the same streams
};

struct RankProgram {
  int32_t rank = 0;
  std::shared_ptr<const EventTable> table;
  RecoveredRank recovered;
  std::vector<Block> blocks;  ///< in host order; their tasks are contiguous and in order
  std::vector<BlockTask> tasks;
  std::vector<BlockEdge> edges;
  std::vector<PeerLag> peer_lags;  ///< see program/measure/host_lags
};

struct Program {
  std::vector<LaneKey> lanes;
  std::vector<RankProgram> ranks;
  /// Passes begin because the main and the autograd thread wake each other, so that blocks in another order must do so,
  /// too. Where a trace does not show one of them waiting, its waiting looks like work, and must not be done in turn.
  bool threads_hand_over = false;
};

/// Cuts each rank's graph into blocks. `graphs[i]` is the graph of one rank alone, whose table recovery has labelled
/// as `recovered[i]`. Every task belongs to exactly one block, and no task depends on a later block.
Program make_program(const std::vector<ExecGraph>& graphs, std::vector<RecoveredRank> recovered);

}  // namespace lumos

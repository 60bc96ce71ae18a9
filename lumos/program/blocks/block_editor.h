// Changes the work of one block of a program: takes launches out, puts communication or copied kernels in. Whatever
// waited for a launch that is taken out waits for what that one waited for. Used by program/switches.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/program/blocks/program.h"

namespace lumos {

/// How the launch of added work looks on its rank.
struct LaunchStyle {
  int64_t host_ns = 0;     ///< CPU time of one launch, its operators included
  int32_t latency_ns = 0;  ///< from the start of the call to an idle stream's kernel
};

/// Communication to be put into a block, and who waits for it.
struct AddedCollective {
  uint32_t row = kNoIndex;   ///< row of the rank's table that stands for it
  uint32_t call = kNoIndex;  ///< and for its launch
  uint32_t lane = kNoLane;   ///< stream that it runs on
  LaunchStyle style;
};

/// A position in a block: just before or just after the work of one launch.
struct BlockPoint {
  uint32_t launch = kNoIndex;
  bool after = false;
};

class BlockEditor {
 public:
  BlockEditor(const Program& program, const RankProgram& rank, const Block& block);

  bool changed() const { return changed_; }

  /// The launch no longer happens: its GPU work and the CPU time that served it alone take no time.
  void remove(uint32_t launch);

  /// The launch's GPU work takes `factor` times as long.
  void stretch(uint32_t launch, double factor);

  /// Puts `what` at `at`; it needs what is on the compute stream up to there. The work of `consumer` (a launch of the
  /// block, kNoIndex: nobody in this block) waits for it, or for the communication before it if `prefetched`.
  void insert(const AddedCollective& what, BlockPoint at, uint32_t consumer, bool prefetched = false);

  /// Runs the kernels of `launches` of another block of the same rank before `launch`.
  void insert_copies(const Block& from, const std::vector<uint32_t>& launches, uint32_t launch, LaunchStyle style);

  /// The work of `launch` waits for whatever came last on `lane` before the block.
  void wait_for(uint16_t lane, uint32_t launch);

  /// The first compute launch of the block after `launch`, or kNoIndex.
  uint32_t next_compute(uint32_t launch) const;

  /// Appends the block's tasks to `tasks` and `edges`.
  void append_to(std::vector<BlockTask>& tasks, std::vector<BlockEdge>& edges) const;

 private:
  struct Item {
    BlockTask task;
    std::vector<BlockEdge> edges;
  };

  void put(size_t at, Item item);
  size_t first_gpu_item(uint32_t launch) const;
  size_t last_item(uint32_t launch, bool gpu) const;
  size_t call_item(uint32_t launch) const;
  size_t put_host(uint32_t launch, bool after, uint32_t call, LaunchStyle style);
  BlockEdge after_last_on(uint32_t lane, size_t before, EdgeKind kind) const;
  void follow_on_lane(uint32_t lane, size_t item, EdgeKind kind);
  bool owns(uint32_t row, uint32_t launch) const;

  const Program& program_;
  const RankProgram& rank_;
  const Block& block_;
  std::vector<Item> items_;
  bool changed_ = false;
};

/// A block of its own for one collective: launched on `thread`, after everything on the compute stream `compute`. The
/// thread goes on at once, or when the collective is done if `host_waits`.
void append_collective(const AddedCollective& what, uint32_t thread, uint32_t compute, bool host_waits,
                       std::vector<BlockTask>& tasks, std::vector<BlockEdge>& edges);

}  // namespace lumos

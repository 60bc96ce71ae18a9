// Communication that a changed job has and the trace does not: rows for it in a copy of the rank's table, the stream it
// runs on, what its launch costs the host. Used by program/switches.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "lumos/program/blocks/block_editor.h"
#include "lumos/program/measure/transfers.h"

namespace lumos {

/// One kind of added communication.
struct CommWork {
  CommScope scope = CommScope::kTensor;
  CommKind kind = CommKind::kAllReduce;
  int64_t bytes = 0;  ///< in the traced job's sizes
};

/// Of one rank. Give it the rank's table and transfers; take them back with finish().
class AddedWork {
 public:
  AddedWork(Program& program, RankProgram& rank, RankTransfers& transfers);

  AddedCollective collective(const CommWork& work);

  /// The launch of an ordinary kernel on `thread`.
  LaunchStyle kernel_style() const { return kernel_style_; }

  uint16_t main_thread() const { return main_thread_; }
  uint16_t compute_stream() const { return compute_stream_; }

  /// The transfer of `row` runs another algorithm on the same bytes; its time is changed by `ratio`.
  void change_kind(uint32_t row, CommKind kind, double ratio);

  /// Hands the table with the added rows to the rank.
  void finish();

 private:
  uint16_t lane_of(CommScope scope);
  uint16_t usual_lane(CommScope scope) const;
  /// The row of the kernel; the one before it is its launch.
  uint32_t add_rows(const CommWork& work, uint16_t lane);
  void push_row(std::string_view name, uint32_t lane, EventKind kind, int64_t correlation);
  void find_styles();
  void find_lanes();

  Program& program_;
  RankProgram& rank_;
  RankTransfers& transfers_;
  EventTable table_;
  std::shared_ptr<NamePool> names_;
  int64_t next_correlation_ = 1;
  LaunchStyle kernel_style_, collective_style_;
  uint16_t main_thread_ = kNoLane, compute_stream_ = kNoLane;
  std::map<CommScope, uint16_t> lanes_;
  std::map<std::tuple<CommScope, CommKind, int64_t>, uint32_t> rows_;
};

}  // namespace lumos

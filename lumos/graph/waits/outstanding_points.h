// The points of streams that have been passed and may still be waited for, in the order of their calls, and which of
// them each reading of a wait means. Kept by graph/waits/stream_waits while it runs through the calls.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/host/call_context.h"
#include "lumos/graph/host/host_program.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// A point of a stream's program: its last work and whatever the stream had been made to wait for since. Works index
/// GpuProgram::work.
struct StreamPoint {
  uint32_t stream = kNoIndex;
  std::vector<uint32_t> works;
};

/// A point that a later wait may mean.
struct OutstandingPoint {
  uint32_t call = 0;  ///< the record, or the launch itself where no record is seen
  StreamPoint point;
  bool awaited = false;
  bool settled = false;  ///< the host has waited for the device since: meant only where nothing newer can be
  uint32_t uses = 1;     ///< operations that one launch runs: each may be waited for
  bool in_use = false;   ///< some of them have been
};

class OutstandingPoints {
 public:
  OutstandingPoints(const EventTable& table, const HostProgram& host, const CallContexts& contexts)
      : table_(table), host_(host), contexts_(contexts) {}

  void clear() { points_.clear(); }
  void push(uint32_t call, StreamPoint point, uint32_t uses = 1) {
    points_.push_back({call, std::move(point)});
    points_.back().uses = uses;
  }
  const OutstandingPoint& operator[](uint32_t index) const { return points_[index]; }
  const std::vector<OutstandingPoint>& all() const { return points_; }

  /// The host has waited for the device: all that was passed is done.
  void settle();
  /// All points of `stream` have been waited for.
  void mark_awaited(uint32_t stream);
  /// The point at `index` has been, once, and with it what its stream passed before.
  void mark_awaited_up_to(uint32_t index);
  /// Waits for the operations of one launch stand side by side: what was waited for at all is over.
  void end_uses();
  /// Forgets what was waited for, but within the operator that launched it, which may wait again; of points that never
  /// are waited for, only the latest can still be meant.
  void drop_awaited(int64_t now_ns);
  /// Forgets all but the ends of collectives.
  void keep_communication();

  /// A collective is outstanding that was launched under an operator which is also around call `c`.
  bool collective_near(uint32_t c);

  /// For each reading (wait_site.h) the index of the point that a wait of call `c` on stream `waiter` means by it,
  /// kNoIndex where there is none; for the twins that of a wait on `other`, if there is another.
  void find_readings(uint32_t c, uint32_t waiter, uint32_t other, uint32_t streams, std::vector<uint32_t>& readings);

 private:
  void find_twins(uint32_t c, uint32_t waiter, uint32_t twin, std::vector<uint32_t>& readings);
  bool may_wait_again(const OutstandingPoint& point, int64_t now_ns) const;
  int common_depth(uint32_t call);
  void operators_around(uint32_t row, std::vector<uint32_t>& out) const;

  const EventTable& table_;
  const HostProgram& host_;
  const CallContexts& contexts_;
  std::vector<OutstandingPoint> points_;
  std::vector<uint32_t> around_point_, around_wait_;  // of common_depth; kept to be reused
  bool any_in_use_ = false;
};

}  // namespace lumos

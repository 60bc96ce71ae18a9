#include "lumos/program/recover/unit_work.h"

#include <algorithm>
#include <map>
#include <set>

#include "lumos/program/recover/launches.h"

namespace lumos {
namespace {

/// Follows the launches of each thread and tells what those without an operator of their own are.
class UnitMarker {
 public:
  UnitMarker(const EventTable& table, std::vector<Launch>& launches) : table_(table), launches_(launches) {}

  void run() {
    for (const Launch& launch : launches_) {
      if (launch.is_communication || launch.unit_work == UnitWork::kNone) continue;
      (launch.unit_work == UnitWork::kCopyIn ? copy_in_ : compute_).insert(stream_of(launch));
    }
    if (copy_in_.empty() && compute_.empty()) return forget_communication();
    for (Launch& launch : launches_) {
      UnitWork& last = last_[launch.lane];
      launch.unit_work = launch.is_communication ? collective_after(launch, last) : work_after(launch, last);
      if (launch.unit_work != UnitWork::kNone) launch.in_optimizer = launch.is_zeroing = false;
      last = launch.unit_work;
    }
  }

 private:
  int64_t stream_of(const Launch& launch) const { return table_.lanes[table_.lane[launch.gpu_row]].tid; }
  bool computes_on(int64_t stream) const { return compute_.count(stream) > 0; }

  void forget_communication() {
    for (Launch& launch : launches_) launch.unit_work = UnitWork::kNone;
  }

  UnitWork work_after(const Launch& launch, UnitWork last) const {
    if (launch.unit_work != UnitWork::kNone) return launch.unit_work;
    const int64_t stream = stream_of(launch);
    if (compute_.empty() || computes_on(stream)) return UnitWork::kNone;
    if (copy_in_.count(stream) > 0) return UnitWork::kCopyIn;
    if (last == UnitWork::kReduceIn) return UnitWork::kReduceIn;
    return last >= UnitWork::kReduce ? UnitWork::kAccumulate : UnitWork::kNone;
  }

  static UnitWork collective_after(const Launch& launch, UnitWork last) {
    const bool gathering = last == UnitWork::kCopyIn || launch.unit_work == UnitWork::kCopyIn;
    const bool reducing = last == UnitWork::kReduceIn || launch.unit_work == UnitWork::kReduceIn;
    if (launch.collective == CollectiveKind::kAllGather && gathering) return UnitWork::kGather;
    if (launch.collective == CollectiveKind::kReduceScatter && reducing) return UnitWork::kReduce;
    if (launch.collective == CollectiveKind::kAllReduce && last >= UnitWork::kReduce) return UnitWork::kReplicaReduce;
    // A replicated unit's gradients are reduced over its replicas alone.
    if (launch.collective == CollectiveKind::kAllReduce && reducing) return UnitWork::kReplicaReduce;
    return UnitWork::kNone;
  }

  const EventTable& table_;
  std::vector<Launch>& launches_;
  std::set<int64_t> copy_in_, compute_;  ///< streams
  std::map<uint32_t, UnitWork> last_;    ///< of each thread
};

}  // namespace

void mark_unit_work(const EventTable& table, std::vector<Launch>& launches) { UnitMarker(table, launches).run(); }

}  // namespace lumos

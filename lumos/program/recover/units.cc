#include "lumos/program/recover/units.h"

#include <algorithm>
#include <deque>
#include <map>

namespace lumos {
namespace {

/// Follows the launches in the order of the host and pairs each copy-out with the gather that filled its buffer.
class UnitFinder {
 public:
  explicit UnitFinder(const LaunchList& list) : launches_(list.launches) {}

  UnitRuns run() {
    for (uint32_t i = 0; i < launches_.size(); ++i) {
      const UnitWork work = launches_[i].unit_work;
      if (work == UnitWork::kCopyIn || work == UnitWork::kGather) gather(i, work);
      if (work == UnitWork::kCopyOut) copy_out(i);
      if (is_reducing(work)) reduce(i, work);
      last_[launches_[i].lane] = i;
    }
    return std::move(runs_);
  }

 private:
  uint32_t last_of_thread(uint32_t i) const {
    const auto found = last_.find(launches_[i].lane);
    return found == last_.end() ? kNoIndex : found->second;
  }

  void gather(uint32_t i, UnitWork work) {
    auto [open, fresh] = open_.try_emplace(launches_[i].lane, i);
    if (work != UnitWork::kGather) return;
    UnitGather made;
    made.begin = open->second;
    made.gather = i;
    open_.erase(open);
    pending_.push_back(static_cast<uint32_t>(runs_.gathers.size()));
    runs_.gathers.push_back(made);
  }

  void copy_out(uint32_t i) {
    const uint32_t before = last_of_thread(i);
    if (before != kNoIndex && launches_[before].unit_work == UnitWork::kCopyOut && current_ != kNoIndex &&
        launches_[before].outer_op == launches_[i].outer_op) {
      runs_.gathers[current_].copy_out_end = i + 1;
      return;
    }
    if (pending_.empty()) return;
    // What was gathered just now is meant; else units are used in the order in which they were gathered.
    const bool own = before != kNoIndex && launches_[before].unit_work == UnitWork::kGather;
    current_ = own ? pending_.back() : pending_.front();
    own ? pending_.pop_back() : pending_.pop_front();
    UnitGather& served = runs_.gathers[current_];
    served.copy_out = i;
    served.copy_out_end = i + 1;
    served.prefetched = !own;
  }

  void reduce(uint32_t i, UnitWork work) {
    const uint32_t before = last_of_thread(i);
    const UnitWork last = before == kNoIndex ? UnitWork::kNone : launches_[before].unit_work;
    const bool continues = !runs_.reduces.empty() && is_reducing(last) &&
                           (work >= last || last == UnitWork::kAccumulate) &&
                           !(work == UnitWork::kReduceIn && last != UnitWork::kReduceIn);
    if (!continues) {
      runs_.reduces.emplace_back();
      runs_.reduces.back().begin = i;
    }
    UnitReduce& one = runs_.reduces.back();
    if (work == UnitWork::kReduce) one.reduce = i;
    if (work == UnitWork::kReplicaReduce) (one.reduce == kNoIndex ? one.reduce : one.replicas) = i;
    one.end = i + 1;
  }

  const std::vector<Launch>& launches_;
  UnitRuns runs_;
  std::deque<uint32_t> pending_;       ///< gathers that nothing was copied out of yet
  std::map<uint32_t, uint32_t> open_;  ///< by thread: first copy-in of a gather to come
  std::map<uint32_t, uint32_t> last_;  ///< by thread: its last launch
  uint32_t current_ = kNoIndex;        ///< gather of the last copy-out
};

/// Of each launch: the next one on its thread that computes.
std::vector<uint32_t> next_computing(const std::vector<Launch>& launches) {
  std::vector<uint32_t> next(launches.size(), kNoIndex);
  std::map<uint32_t, uint32_t> of_thread;
  for (auto i = static_cast<uint32_t>(launches.size()); i-- > 0;) {
    auto [known, fresh] = of_thread.try_emplace(launches[i].lane, kNoIndex);
    next[i] = known->second;
    if (launches[i].unit_work == UnitWork::kNone && !launches[i].is_communication) known->second = i;
  }
  return next;
}

}  // namespace

UnitRuns find_units(const LaunchList& list) { return UnitFinder(list).run(); }

void label_units(const EventTable&, RecoveredRank& rank) {
  const UnitRuns units = find_units(rank.list);
  if (units.gathers.empty()) return;
  const std::vector<uint32_t> next = next_computing(rank.list.launches);
  for (const UnitGather& gather : units.gathers) {
    const uint32_t used = gather.copy_out == kNoIndex ? next[gather.gather] : next[gather.copy_out];
    const int16_t layer = used == kNoIndex || rank.labels[used].step != rank.labels[gather.gather].step
                              ? int16_t{-1}
                              : rank.labels[used].layer;
    const uint32_t lane = rank.list.launches[gather.gather].lane;
    for (uint32_t i = gather.begin; i <= gather.gather; ++i) {
      if (rank.list.launches[i].lane != lane) continue;
      rank.labels[i].layer = layer;
      rank.list.launches[i].gathers_ahead = gather.prefetched;
    }
    for (uint32_t i = gather.copy_out; i < gather.copy_out_end && gather.copy_out != kNoIndex; ++i)
      if (rank.list.launches[i].unit_work == UnitWork::kCopyOut) rank.labels[i].layer = layer;
  }
}

}  // namespace lumos

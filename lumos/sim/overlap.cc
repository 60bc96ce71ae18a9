#include "lumos/sim/overlap.h"

#include <algorithm>

namespace lumos {

namespace {

struct Interval {
  int64_t start_ns;
  int64_t end_ns;
};

// Disjoint intervals in order, with the busy time before each, so that a range is a difference of two look-ups.
class BusyTime {
 public:
  void add(int64_t start, int64_t end) {
    if (end > start) intervals_.push_back({start, end});
  }

  void finish() {
    std::sort(intervals_.begin(), intervals_.end(),
              [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
    size_t kept = 0;
    for (const Interval& i : intervals_) {
      if (kept > 0 && i.start_ns <= intervals_[kept - 1].end_ns) {
        intervals_[kept - 1].end_ns = std::max(intervals_[kept - 1].end_ns, i.end_ns);
      } else {
        intervals_[kept++] = i;
      }
    }
    intervals_.resize(kept);
    before_.assign(kept + 1, 0);
    for (size_t i = 0; i < kept; ++i) before_[i + 1] = before_[i] + intervals_[i].end_ns - intervals_[i].start_ns;
  }

  int64_t within(int64_t start, int64_t end) const { return until(end) - until(start); }

 private:
  int64_t until(int64_t time) const {
    const auto it = std::partition_point(intervals_.begin(), intervals_.end(),
                                         [&](const Interval& i) { return i.start_ns < time; });
    const size_t index = static_cast<size_t>(it - intervals_.begin());
    if (index == 0) return 0;
    return before_[index - 1] + std::min(time, intervals_[index - 1].end_ns) - intervals_[index - 1].start_ns;
  }

  std::vector<Interval> intervals_;
  std::vector<int64_t> before_;
};

}  // namespace

std::vector<int64_t> overlaps(const ExecGraph& graph, const Timeline& timeline) {
  std::vector<int64_t> out(graph.size(), 0);
  for (const RankTasks& rank : graph.ranks) {
    BusyTime compute, transfer;
    for (uint32_t t = rank.first_task; t < rank.end_task; ++t) {
      if (is_compute_task(graph.kind[t])) compute.add(timeline.start_ns[t], timeline.end_ns[t]);
      if (graph.kind[t] == TaskKind::kTransfer) transfer.add(timeline.start_ns[t], timeline.end_ns[t]);
    }
    compute.finish();
    transfer.finish();
    for (uint32_t t = rank.first_task; t < rank.end_task; ++t) {
      if (is_compute_task(graph.kind[t])) out[t] = transfer.within(timeline.start_ns[t], timeline.end_ns[t]);
      if (graph.kind[t] == TaskKind::kTransfer) out[t] = compute.within(timeline.start_ns[t], timeline.end_ns[t]);
    }
  }
  return out;
}

}  // namespace lumos

#include "lumos/graph/rank/issue_order.h"

#include <algorithm>
#include <utility>

#include "lumos/graph/constants.h"

namespace lumos {

namespace {

// So many works must have held back before it is a law, and of those that could overtake at most one in so many may.
constexpr uint64_t kFewestHeld = 20;
constexpr uint64_t kOvertakingShare = 100;
// Ready means: this many default launch latencies before the other started, beyond any jitter.
constexpr int64_t kReadyFactor = 4;

}  // namespace

std::vector<IssueOrder> find_issue_order(const RankPrograms& p) {
  if (p.gpu.streams() < 2) return {};
  std::vector<int64_t> source_end(p.gpu.work.size(), INT64_MIN);
  for (const StreamWait& wait : p.stream_waits) {
    source_end[wait.waiting] = std::max(source_end[wait.waiting], p.gpu.work[wait.source].end_ns);
  }
  std::vector<IssueOrder> pairs;
  uint64_t held = 0, overtook = 0;
  uint32_t earlier = kNoIndex;
  for (uint32_t c = 0; c < p.host.calls.size(); ++c) {
    if (p.gpu.by_call_begin[c + 1] - p.gpu.by_call_begin[c] != 1) continue;
    const uint32_t later = p.gpu.by_call[p.gpu.by_call_begin[c]];
    const uint32_t before = std::exchange(earlier, later);
    if (before == kNoIndex || p.gpu.work[before].stream == p.gpu.work[later].stream) continue;
    pairs.push_back({later, before});
    const uint32_t previous = p.stream_predecessor[later];
    const int64_t ready = std::max({p.launch_ns(p.gpu.work[later]) + kDefaultLaunchNs, source_end[later],
                                    previous == kNoIndex ? INT64_MIN : p.gpu.work[previous].end_ns});
    if (ready + kReadyFactor * kDefaultLaunchNs >= p.gpu.work[before].start_ns) continue;
    if (p.gpu.work[later].start_ns + p.tolerance_ns >= p.gpu.work[before].start_ns)
      ++held;
    else
      ++overtook;
  }
  if (held < kFewestHeld || overtook * kOvertakingShare > held) return {};
  return pairs;
}

}  // namespace lumos

#include "lumos/graph/waits/stream_states.h"

#include <algorithm>

namespace lumos {

StreamPoint StreamStates::point_of(uint32_t stream) const {
  StreamPoint point;
  point.stream = stream;
  if (last_[stream] != kNoIndex) point.works.push_back(last_[stream]);
  for (const Pending& p : pending_[stream]) point.works.push_back(p.work);
  return point;
}

void StreamStates::wait(uint32_t waiter, const StreamPoint& point, uint32_t site, bool recorded) {
  for (uint32_t work : point.works) {
    const uint32_t source = gpu_->work[work].stream;
    if (source == waiter) continue;
    if (joined_[source] == kNoIndex || joined_[source] < work) joined_[source] = work;
    std::vector<Pending>& pending = pending_[waiter];
    const auto known = std::find_if(pending.begin(), pending.end(),
                                    [&](const Pending& p) { return gpu_->work[p.work].stream == source; });
    if (known == pending.end())
      pending.push_back({work, site, recorded});
    else if (known->work < work)  // works of a stream are numbered in order
      *known = {work, site, recorded};
  }
}

void StreamStates::launch(uint32_t w, std::vector<WaitCandidate>& edges) {
  const uint32_t stream = gpu_->work[w].stream;
  for (const Pending& p : pending_[stream]) edges.push_back({w, p.work, p.site, p.recorded});
  pending_[stream].clear();
  last_[stream] = w;
}

}  // namespace lumos

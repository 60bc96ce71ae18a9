#include "lumos/graph/host/stream_ids.h"

namespace lumos {

StreamIds::StreamIds(const EventTable& table, const GpuProgram& gpu) {
  for (uint32_t s = 0; s < gpu.streams(); ++s) {
    const Lane& lane = table.lanes[gpu.stream_lane[s]];
    device_of_.push_back(lane.pid_text);
    of_device_[key(lane.pid_text, lane.tid)] = s;
    const auto [it, fresh] = only_.try_emplace(lane.tid, s);
    if (!fresh) it.value() = kNoIndex;
  }
}

uint32_t StreamIds::find(NameId device, int64_t id) const {
  const auto own = of_device_.find(key(device, id));
  if (own != of_device_.end() && device_of_[own->second] == device) return own->second;
  const auto other = only_.find(id);
  return other == only_.end() ? kNoIndex : other->second;
}

}  // namespace lumos

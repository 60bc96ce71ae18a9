#include "lumos/graph/host/launch_queue.h"

#include <algorithm>

#include "lumos/graph/constants.h"

namespace lumos {

namespace {

// A call this many times longer than the median may have been held.
constexpr int64_t kHeldFactor = 20;
// Once the depth is known, this many times is enough.
constexpr int64_t kBrieflyHeldFactor = 2;
// Fewer held calls than this at one depth are chance.
constexpr size_t kFewestHeld = 8;
// Four in five of the held calls must agree.
constexpr size_t kAgreeNumerator = 4, kAgreeDenominator = 5;
// Depths of real queues are hundreds or more; a few works in flight are a short program, not a limit.
constexpr uint32_t kShallowest = 128;

struct Held {
  uint32_t call;
  uint32_t depth;
  uint32_t freed_by;  // work whose end made room
};

// Works of the stream before `w` that had not ended by `time`, the ends being in order.
uint32_t unfinished_before(const GpuProgram& gpu, uint32_t w, int64_t time) {
  const auto begin = gpu.work.begin() + gpu.stream_begin[gpu.work[w].stream];
  const auto first =
      std::partition_point(begin, gpu.work.begin() + w, [&](const GpuWork& x) { return x.end_ns <= time; });
  return static_cast<uint32_t>(gpu.work.begin() + w - first);
}

// With the queue known, all calls that returned at its depth having taken longer than usual were held, however briefly.
std::vector<uint32_t> calls_at_depth(const EventTable& table, const HostProgram& host, const GpuProgram& gpu,
                                     uint32_t depth, int64_t longer_than_ns) {
  std::vector<uint32_t> calls;
  for (uint32_t c = 0; c < host.calls.size(); ++c) {
    if (gpu.by_call_begin[c + 1] - gpu.by_call_begin[c] != 1) continue;
    const uint32_t row = host.calls[c].row;
    if (table.dur_ns[row] <= longer_than_ns) continue;
    const uint32_t found = unfinished_before(gpu, gpu.by_call[gpu.by_call_begin[c]], table.end_ns(row));
    if (found + 1 >= depth && found <= depth + 1) calls.push_back(c);
  }
  return calls;
}

}  // namespace

LaunchQueue find_launch_queue(const EventTable& table, const HostProgram& host, const GpuProgram& gpu) {
  LaunchQueue out;
  std::vector<int64_t> durations;
  for (uint32_t c = 0; c < host.calls.size(); ++c) {
    if (gpu.by_call_begin[c + 1] - gpu.by_call_begin[c] == 1) durations.push_back(table.dur_ns[host.calls[c].row]);
  }
  if (durations.size() < kShallowest) return out;
  std::nth_element(durations.begin(), durations.begin() + durations.size() / 2, durations.end());
  const int64_t usual = durations[durations.size() / 2];
  std::vector<Held> held;
  for (uint32_t c = 0; c < host.calls.size(); ++c) {
    if (gpu.by_call_begin[c + 1] - gpu.by_call_begin[c] != 1) continue;
    const uint32_t row = host.calls[c].row;
    if (table.dur_ns[row] <= kHeldFactor * std::max<int64_t>(usual, 1)) continue;
    const uint32_t w = gpu.by_call[gpu.by_call_begin[c]];
    const uint32_t depth = unfinished_before(gpu, w, table.end_ns(row));
    if (depth >= kShallowest) held.push_back({c, depth, w - depth - 1});
  }
  if (held.size() < kFewestHeld) return out;
  std::vector<uint32_t> depths;
  for (const Held& h : held) depths.push_back(h.depth);
  std::nth_element(depths.begin(), depths.begin() + depths.size() / 2, depths.end());
  const uint32_t depth = depths[depths.size() / 2];
  std::vector<int64_t> returns;
  for (const Held& h : held) {
    const int64_t delay = table.end_ns(host.calls[h.call].row) - gpu.work[h.freed_by].end_ns;
    if (h.depth + 1 < depth || h.depth > depth + 1 || delay > kHeldFactor * std::max<int64_t>(usual, 1)) continue;
    returns.push_back(delay);
  }
  // The limit is real when the held calls agree on it, and return as soon as there is room.
  if (returns.size() * kAgreeDenominator < held.size() * kAgreeNumerator) return {};
  out.blocked = calls_at_depth(table, host, gpu, depth, kBrieflyHeldFactor * usual);
  out.depth = depth + 1;
  out.return_ns = middle_mean(returns);
  out.call_ns = usual;
  return out;
}

}  // namespace lumos

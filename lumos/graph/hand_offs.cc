#include <algorithm>
#include <map>

#include "lumos/graph/host_waits.h"

namespace lumos {

namespace {

// Of a wait that is none, the other thread's work ends anywhere within it: half way in the mean. Of a real one it ends
// just before: the latency is a small part of the wait. A pair of threads is believed when, weighted by length, its
// waits end this early in the mean; a single wait when its own latency is no larger a part than this.
constexpr double kPairLatencyShare = 0.1;
constexpr double kWaitLatencyShare = 0.3;

struct PairEvidence {
  double waited_ns = 0;
  double latency_ns = 0;
};

// Idle means: the innermost event is nothing, or something that only brackets others. A runtime call is never idle
// here.
bool may_idle(const EventTable& table, const HostSegment& segment) {
  return segment.row == kNoIndex || table.kind[segment.row] != EventKind::kRuntime;
}

struct Candidate {
  HandOff hand_off;
  uint32_t pair = 0;
  int64_t waited_ns = 0;
};

// All moments at which a segment of `x` ends while `y` is idle, having fallen idle during that segment.
void collect(const EventTable& table, const HostProgram& host, uint32_t x, uint32_t y, uint32_t pair,
             std::vector<Candidate>& out) {
  const HostThread& tx = host.threads[x];
  const HostThread& ty = host.threads[y];
  uint32_t j = ty.first_segment;
  for (uint32_t i = tx.first_segment; i < tx.end_segment; ++i) {
    const HostSegment& sx = host.segments[i];
    if (sx.end_ns == sx.start_ns || !may_idle(table, sx)) continue;
    while (j < ty.end_segment && host.segments[j].end_ns <= sx.end_ns) ++j;
    // After its last segment a thread is idle for good: its work ended with that one.
    const bool over = j == ty.end_segment;
    const int64_t idle_from = over ? host.segments[ty.end_segment - 1].end_ns : host.segments[j].start_ns;
    if (idle_from < sx.start_ns || idle_from > sx.end_ns || j == ty.first_segment) continue;
    if (!over && !may_idle(table, host.segments[j])) continue;
    out.push_back({{i, j - 1, sx.end_ns - idle_from}, pair, sx.end_ns - sx.start_ns});
  }
}

}  // namespace

std::vector<HandOff> find_hand_offs(const EventTable& table, const HostProgram& host,
                                    const std::vector<bool>& left_out) {
  const uint32_t threads = static_cast<uint32_t>(host.threads.size());
  std::vector<Candidate> candidates;
  for (uint32_t x = 0; x < threads; ++x) {
    for (uint32_t y = 0; y < threads; ++y) {
      if (!left_out.empty() && (left_out[x] || left_out[y])) continue;
      if (x != y) collect(table, host, x, y, x * threads + y, candidates);
    }
  }
  std::map<uint32_t, PairEvidence> pairs;
  for (const Candidate& c : candidates) {
    PairEvidence& pair = pairs[c.pair];
    pair.waited_ns += static_cast<double>(c.waited_ns);
    pair.latency_ns += static_cast<double>(c.hand_off.latency_ns);
  }
  std::vector<Candidate> kept;
  for (const Candidate& c : candidates) {
    const PairEvidence& pair = pairs[c.pair];
    if (pair.latency_ns > kPairLatencyShare * pair.waited_ns) continue;
    if (static_cast<double>(c.hand_off.latency_ns) > kWaitLatencyShare * static_cast<double>(c.waited_ns)) continue;
    kept.push_back(c);
  }
  // One wait has one cause: the thread whose work ended last.
  std::sort(kept.begin(), kept.end(), [](const Candidate& a, const Candidate& b) {
    if (a.hand_off.segment != b.hand_off.segment) return a.hand_off.segment < b.hand_off.segment;
    if (a.hand_off.latency_ns != b.hand_off.latency_ns) return a.hand_off.latency_ns < b.hand_off.latency_ns;
    return a.hand_off.source < b.hand_off.source;
  });
  std::vector<HandOff> out;
  for (const Candidate& c : kept) {
    if (out.empty() || out.back().segment != c.hand_off.segment) out.push_back(c.hand_off);
  }
  return out;
}

}  // namespace lumos

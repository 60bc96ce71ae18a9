#include <algorithm>
#include <iterator>
#include <set>

#include "lumos/graph/host/host_waits.h"

namespace lumos {

namespace {

// Of a wait that is none, the other thread's work ends anywhere within it: half way in the mean. Of a real one it ends
// just before: the latency is a small part of the wait. A pair of threads is believed when, weighted by length, its
// waits end this early in the mean; a single wait when its own latency is no larger a part than this.
constexpr double kPairLatencyShare = 0.1;
constexpr double kWaitLatencyShare = 0.3;

// A thread waits for few others. Past this many their pairs would cost more than all else (a thread pool, or a producer
// that gives every event a thread of its own), so only the likeliest are looked at.
constexpr size_t kMostPartners = 32;

// And of other ranks' threads, which are no partners, so many are passed over on the way to those.
constexpr size_t kMostStrangers = 1024;

// Idle means: the innermost event is nothing, or something that only brackets others. A runtime call is never idle
// here.
bool may_idle(const EventTable& table, const HostSegment& segment) {
  return segment.row == kNoIndex || table.kind[segment.row] != EventKind::kRuntime;
}

struct Candidate {
  HandOff hand_off;
  int64_t waited_ns = 0;
};

// The first of [from, end) that ends after `time`. Doubling steps first: most often it is near.
uint32_t first_ending_after(const HostProgram& host, uint32_t from, uint32_t end, int64_t time) {
  uint32_t step = 1, low = from;
  while (low < end && host.segments[low].end_ns <= time) {
    from = low + 1;
    low += std::min(step, end - low);
    step *= 2;
  }
  const auto begin = host.segments.begin();
  const auto it = std::partition_point(begin + from, begin + std::min(low, end),
                                       [&](const HostSegment& s) { return s.end_ns <= time; });
  return static_cast<uint32_t>(it - begin);
}

// All moments at which a segment of `x` ends while `y` is idle, having fallen idle during that segment. O(segments of x
// times the logarithm of those of y).
void collect(const EventTable& table, const HostProgram& host, uint32_t x, uint32_t y, std::vector<Candidate>& out) {
  const HostThread& tx = host.threads[x];
  const HostThread& ty = host.threads[y];
  uint32_t j = ty.first_segment;
  out.clear();
  for (uint32_t i = tx.first_segment; i < tx.end_segment; ++i) {
    const HostSegment& sx = host.segments[i];
    if (sx.end_ns == sx.start_ns || !may_idle(table, sx)) continue;
    j = first_ending_after(host, j, ty.end_segment, sx.end_ns);
    // After its last segment a thread is idle for good: its work ended with that one.
    const bool over = j == ty.end_segment;
    const int64_t idle_from = over ? host.segments[ty.end_segment - 1].end_ns : host.segments[j].start_ns;
    if (idle_from < sx.start_ns || idle_from > sx.end_ns || j == ty.first_segment) continue;
    if (!over && !may_idle(table, host.segments[j])) continue;
    out.push_back({{i, j - 1, sx.end_ns - idle_from}, sx.end_ns - sx.start_ns});
  }
}

// Whether, weighted by length, the waits of a pair of threads end soon after the other's work.
bool believed(const std::vector<Candidate>& pair) {
  double waited_ns = 0, latency_ns = 0;
  for (const Candidate& c : pair) {
    waited_ns += static_cast<double>(c.waited_ns);
    latency_ns += static_cast<double>(c.hand_off.latency_ns);
  }
  return latency_ns <= kPairLatencyShare * waited_ns;
}

bool is_short(const Candidate& c) {
  return static_cast<double>(c.hand_off.latency_ns) <= kWaitLatencyShare * static_cast<double>(c.waited_ns);
}

// Processes that launch are ranks of their own where a file holds several: they wait for each other in collectives, not
// by handing over. kNoName for threads of other processes, which may belong to any.
std::vector<NameId> launching_processes(const EventTable& table, const HostProgram& host) {
  std::set<NameId> launching;
  std::vector<NameId> out;
  for (const HostThread& thread : host.threads) out.push_back(table.lanes[thread.lane].pid_text);
  for (const HostCall& call : host.calls) {
    if (call.kind == CallKind::kLaunch || call.kind == CallKind::kGraphLaunch) launching.insert(out[call.thread]);
  }
  for (NameId& process : out) {
    if (launching.count(process) == 0) process = kNoName;
  }
  return out;
}

// For each thread those that it may have waited for: all others of its rank, or where there are many the kMostPartners
// after whose work it resumed most of its idle time.
class Partners {
 public:
  Partners(const EventTable& table, const HostProgram& host, const std::vector<bool>& left_out)
      : table_(table), host_(host), process_(launching_processes(table, host)) {
    for (uint32_t t = 0; t < host.threads.size(); ++t) {
      if (left_out.empty() || !left_out[t]) taking_part_.push_back(t);
    }
    if (taking_part_.size() > kMostPartners + 1) find_idle_begins();
  }

  const std::vector<uint32_t>& taking_part() const { return taking_part_; }

  std::vector<uint32_t> of(uint32_t x) {
    std::vector<uint32_t> out;
    if (taking_part_.size() <= kMostPartners + 1) {
      std::copy_if(taking_part_.begin(), taking_part_.end(), std::back_inserter(out),
                   [&](uint32_t t) { return may_wait(x, t); });
      return out;
    }
    score(x, out);
    const auto better = [&](uint32_t a, uint32_t b) { return score_[a] != score_[b] ? score_[a] > score_[b] : a < b; };
    std::sort(out.begin(), out.end(), better);
    for (uint32_t y : out) score_[y] = 0;
    if (out.size() > kMostPartners) out.resize(kMostPartners);
    return out;
  }

 private:
  struct IdleBegin {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t thread;
  };

  bool may_wait(uint32_t x, uint32_t y) const {
    return x != y && (process_[x] == process_[y] || process_[x] == kNoName || process_[y] == kNoName);
  }

  void find_idle_begins() {
    for (uint32_t t : taking_part_) {
      const HostThread& thread = host_.threads[t];
      for (uint32_t i = thread.first_segment + 1; i < thread.end_segment; ++i) {
        const HostSegment& s = host_.segments[i];
        if (may_idle(table_, s)) idle_.push_back({s.start_ns, s.end_ns, t});
      }
      if (thread.end_segment > thread.first_segment) {
        idle_.push_back({host_.segments[thread.end_segment - 1].end_ns, INT64_MAX, t});
      }
    }
    std::sort(idle_.begin(), idle_.end(), [](const IdleBegin& a, const IdleBegin& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.thread < b.thread;
    });
    score_.assign(host_.threads.size(), 0);
  }

  // Adds to each thread's score the waits of `x` that ended soon after it fell idle; `out` gets those with a score.
  void score(uint32_t x, std::vector<uint32_t>& out) {
    const HostThread& thread = host_.threads[x];
    for (uint32_t i = thread.first_segment; i < thread.end_segment; ++i) {
      const HostSegment& s = host_.segments[i];
      if (s.end_ns == s.start_ns || !may_idle(table_, s)) continue;
      const int64_t waited = s.end_ns - s.start_ns;
      const int64_t since = s.end_ns - static_cast<int64_t>(kWaitLatencyShare * static_cast<double>(waited));
      auto it = std::upper_bound(idle_.begin(), idle_.end(), s.end_ns,
                                 [](int64_t time, const IdleBegin& begin) { return time < begin.start_ns; });
      size_t looked = 0, strangers = 0;
      while (it != idle_.begin() && looked < kMostPartners && strangers < kMostStrangers) {
        --it;
        if (it->start_ns < since) break;
        const bool stranger = it->thread != x && !may_wait(x, it->thread);
        ++(stranger ? strangers : looked);
        if (stranger || it->end_ns <= s.end_ns || it->thread == x) continue;
        if (score_[it->thread] == 0) out.push_back(it->thread);
        score_[it->thread] += waited;
      }
    }
  }

  const EventTable& table_;
  const HostProgram& host_;
  std::vector<NameId> process_;  // by thread, as launching_processes
  std::vector<uint32_t> taking_part_;
  std::vector<IdleBegin> idle_;  // by start
  std::vector<int64_t> score_;   // by thread; zero between calls
};

}  // namespace

std::vector<HandOff> find_hand_offs(const EventTable& table, const HostProgram& host,
                                    const std::vector<bool>& left_out) {
  Partners partners(table, host, left_out);
  std::vector<HandOff> out;
  std::vector<Candidate> pair;
  std::vector<HandOff> kept;
  for (uint32_t x : partners.taking_part()) {
    kept.clear();
    for (uint32_t y : partners.of(x)) {
      collect(table, host, x, y, pair);
      if (!believed(pair)) continue;
      for (const Candidate& c : pair) {
        if (is_short(c)) kept.push_back(c.hand_off);
      }
    }
    // One wait has one cause: the thread whose work ended last.
    std::sort(kept.begin(), kept.end(), [](const HandOff& a, const HandOff& b) {
      if (a.segment != b.segment) return a.segment < b.segment;
      return a.latency_ns != b.latency_ns ? a.latency_ns < b.latency_ns : a.source < b.source;
    });
    for (const HandOff& wait : kept) {
      if (out.empty() || out.back().segment != wait.segment) out.push_back(wait);
    }
  }
  return out;
}

}  // namespace lumos

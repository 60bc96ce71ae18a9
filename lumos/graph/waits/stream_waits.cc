#include "lumos/graph/waits/stream_waits.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <utility>

#include "lumos/graph/host/call_context.h"
#include "lumos/graph/waits/event_pairs.h"
#include "lumos/graph/waits/outstanding_points.h"
#include "lumos/graph/waits/sync_rows.h"
#include "lumos/graph/waits/wait_site.h"

namespace lumos {

namespace {

constexpr int kMaxRounds = 4;

// How many launches ahead the streams of a fork may first be used.
constexpr uint32_t kForkLaunches = 64;

// A work that began this soon after another ended may have waited for it: a few times the usual event latency.
constexpr int64_t kBindingNs = 6000;

struct Pending {
  uint32_t work;
  uint32_t site;
  bool recorded;
};

struct Candidate {
  uint32_t waiting;
  uint32_t source;
  uint32_t site;
  bool recorded;
};

// Runs through all calls in time order with one state per stream: what was launched last, what is waited for.
class StreamMachine {
 public:
  StreamMachine(const EventTable& table, const HostProgram& host, const GpuProgram& gpu, const CallContexts& contexts,
                const SyncRows& sync_rows, int64_t tolerance_ns)
      : table_(table),
        host_(host),
        gpu_(gpu),
        contexts_(contexts),
        sync_rows_(sync_rows),
        tolerance_ns_(tolerance_ns),
        outstanding_(table, host, contexts) {
    for (const HostCall& call : host.calls) has_records_ |= call.kind == CallKind::kRecord;
    launched_ns_ = launch_order_ns(table, host, gpu);
    pairs_ = find_event_pairs(table, host, contexts, has_records_);
  }

  // One pass with the sites' present choices; new sites are added as they are met.
  std::vector<Candidate> run(std::vector<WaitSite>& sites) {
    sites_ = &sites;
    last_.assign(gpu_.streams(), kNoIndex);
    pending_.assign(gpu_.streams(), {});
    outstanding_.clear();
    recorded_points_.clear();
    edges_.clear();
    for (uint32_t c = 0; c < host_.calls.size(); ++c) {
      if (gpu_.by_call_begin[c] != gpu_.by_call_begin[c + 1]) {
        launch(c);
      } else if (host_.calls[c].kind == CallKind::kRecord) {
        record(c);
      } else if (host_.calls[c].kind == CallKind::kWait) {
        wait(c);
      } else if (host_.calls[c].kind == CallKind::kDeviceSync) {
        // Everything before is done: a later wait for it holds nothing more, though the program may still make it.
        outstanding_.settle();
      }
    }
    return std::move(edges_);
  }

 private:
  void launch(uint32_t c) {
    for (uint32_t i = gpu_.by_call_begin[c]; i < gpu_.by_call_begin[c + 1]; ++i) {
      const uint32_t w = gpu_.by_call[i];
      const uint32_t stream = gpu_.work[w].stream;
      for (const Pending& p : pending_[stream]) {
        if (gpu_.work[p.work].stream != stream) edges_.push_back({w, p.work, p.site, p.recorded});
      }
      pending_[stream].clear();
      last_[stream] = w;
      // A collective may be waited for whether or not its end was seen to be recorded.
      if (contexts_.communication_stream[stream]) {
        outstanding_.push(c, {stream, {w}});
      }
    }
  }

  void record(uint32_t c) {
    const CallContext& context = contexts_.of_call[c];
    const int64_t correlation = table_.correlation[host_.calls[c].row];
    const uint32_t* known = sync_rows_.stream_of_record(correlation);
    uint32_t stream = kNoIndex;
    if (known != nullptr) {
      stream = *known;
    } else if (before_collective(c)) {
      stream = compute_stream(context);
    } else if (context.previous_launch != kNoIndex) {
      stream = contexts_.launch_stream[context.previous_launch];
    } else {
      stream = compute_stream(context);
    }
    if (stream == kNoIndex) return;
    StreamPoint point = point_of(stream);
    if (known != nullptr) recorded_points_[correlation] = point;
    last_record_[c] = point;
    // The end of a collective is outstanding already; another stream's record may be waited for much later.
    if (!contexts_.communication_stream[stream] && !before_collective(c) && !pairs_.followed[c]) {
      outstanding_.push(c, std::move(point));
    }
  }

  void wait(uint32_t c) {
    const int64_t correlation = table_.correlation[host_.calls[c].row];
    if (const RecordedWait* recorded = sync_rows_.of_wait(correlation)) {
      recorded_wait(*recorded);
      return;
    }
    const CallContext& context = contexts_.of_call[c];
    const bool paired = context.previous_event_call != kNoIndex &&
                        host_.calls[context.previous_event_call].kind == CallKind::kRecord &&
                        same_operator(host_, context.previous_event_call, c);
    if (before_collective(c)) {
      const uint32_t waiter = contexts_.launch_stream[context.next_launch];
      const auto it = paired ? last_record_.find(context.previous_event_call) : last_record_.end();
      const uint32_t compute = compute_stream(context);
      if (it != last_record_.end())
        add(waiter, it->second, site_of(c, 'p', kNoIndex), false);
      else if (compute != kNoIndex)
        add(waiter, point_of(compute), site_of(c, 'p', kNoIndex), false);
      return;
    }
    if (paired && inside_previous_collective(c)) return;  // NCCL's own bookkeeping stream
    if (pairs_.fork[c] > 1 && forks(c)) {
      const auto it = last_record_.find(context.previous_event_call);
      if (pairs_.fork[c] == kForkMember) return;
      if (it != last_record_.end()) fork(c, pairs_.fork[c], it->second);
      if (!has_records_) fork(c, pairs_.fork[c], point_of(contexts_.launch_stream[context.previous_launch]));
      return;
    }
    const uint32_t waiter = waiting_stream(context);
    if (waiter == kNoIndex) return;
    if (paired) {
      const auto it = last_record_.find(context.previous_event_call);
      if (it != last_record_.end() && it->second.stream != waiter) {
        add(waiter, it->second, site_of(c, 'q', kNoIndex), false);
        outstanding_.mark_awaited(it->second.stream);
      }
      return;
    }
    lone_wait(c, waiter);
  }

  void recorded_wait(const RecordedWait& recorded) {
    const uint32_t waiter = recorded.waiting_stream;
    const uint32_t source = recorded.source_stream;
    if (waiter == kNoIndex || source == kNoIndex || waiter == source) return;
    const auto it = recorded_points_.find(recorded.record_correlation);
    if (it != recorded_points_.end())
      add(waiter, it->second, 0, true);
    else if (recorded.record_correlation < 0)
      add(waiter, point_of(source), 0, true);
    outstanding_.mark_awaited(source);
  }

  // work.wait(), event.wait(): which of the outstanding points it means is the site's reading.
  void lone_wait(uint32_t c, uint32_t waiter) {
    outstanding_.drop_awaited();
    if (!has_records_) add_current_points(c, waiter);
    const uint32_t next = next_work(waiter, table_.ts_ns[host_.calls[c].row]);
    const uint32_t last_launch = contexts_.of_call[c].previous_launch;
    const bool immediate = std::any_of(outstanding_.all().begin(), outstanding_.all().end(), [&](auto& r) {
      return !r.awaited && r.point.stream != waiter && r.call == last_launch;
    });
    const uint32_t site = site_of(c, immediate ? 'i' : 'l', next);
    outstanding_.find_readings(c, waiter, gpu_.streams(), readings_);
    score(site, next);
    const WaitSite& s = (*sites_)[site];
    if (s.back_stream != kNoIndex) {
      const uint32_t latest = last_[s.back_stream];
      if (latest != kNoIndex && latest >= gpu_.stream_begin[s.back_stream] + s.back) {
        add(waiter, {s.back_stream, {latest - s.back}}, site, false);
      }
      return;
    }
    uint32_t chosen = s.refused || s.reading >= readings_.size() ? kNoIndex : readings_[s.reading];
    // A reading that means nothing here (no point on its stream) leaves the wait to its structure.
    if (chosen == kNoIndex && !s.refused) chosen = readings_[kStructure];
    if (chosen == kNoIndex) return;
    // What was enqueued before on the same stream is waited for as well.
    outstanding_.mark_awaited_up_to(chosen);
    add(waiter, outstanding_[chosen].point, site, false);
  }

  // Where the trace has waits but no records (old Kineto, ROCm), a wait may mean whatever each compute stream has come
  // to; the stream that the thread launched on last is the nearest guess, so it goes last.
  void add_current_points(uint32_t c, uint32_t waiter) {
    outstanding_.keep_communication();
    const uint32_t last = contexts_.of_call[c].previous_launch;
    const uint32_t near = last == kNoIndex ? kNoIndex : contexts_.launch_stream[last];
    for (uint32_t s = 0; s <= gpu_.streams(); ++s) {
      const uint32_t stream = s == gpu_.streams() ? near : s;
      if (stream == kNoIndex || stream == waiter || communication(stream) || last_[stream] == kNoIndex) continue;
      if (s < gpu_.streams() && stream == near) continue;
      outstanding_.push(stream == near ? last : c, point_of(stream));
    }
  }

  bool communication(uint32_t stream) const { return contexts_.communication_stream[stream]; }

  void score(uint32_t site, uint32_t next) {
    std::vector<ReadingScore>& scores = (*sites_)[site].scores;
    scores.resize(readings_.size());
    if (next == kNoIndex) return;
    const int64_t start = gpu_.work[next].start_ns;
    const int64_t held_otherwise = std::max(
        next > gpu_.stream_begin[gpu_.work[next].stream] ? gpu_.work[next - 1].end_ns : INT64_MIN, launched_ns_[next]);
    if (!has_records_) score_backs((*sites_)[site], gpu_.work[next].stream, start, held_otherwise);
    const WaitSite& s = (*sites_)[site];
    const uint32_t chosen = s.reading < readings_.size() ? readings_[s.reading] : kNoIndex;
    bool ambiguous = false;
    for (uint32_t r = 0; r < readings_.size(); ++r) {
      if (readings_[r] == kNoIndex || outstanding_[readings_[r]].point.works.empty()) continue;
      const int64_t end = gpu_.work[outstanding_[readings_[r]].point.works.front()].end_ns;
      ++scores[r].seen;
      scores[r].contradicted += end > start + tolerance_ns_;
      ambiguous |= readings_[r] != chosen && end <= start + tolerance_ns_;
      scores[r].binding += end > held_otherwise && end <= start + tolerance_ns_ && end + kBindingNs >= start;
    }
    ++(*sites_)[site].lone;
    (*sites_)[site].ambiguous += ambiguous;
  }

  // Without records the point that a wait means cannot be seen, but a program that repeats itself means the same one
  // each time: as many works before the stream's latest. Counts, per stream, how far back the work is that ended just
  // when the waiter began.
  void score_backs(WaitSite& site, uint32_t waiter, int64_t start, int64_t held_otherwise) const {
    ++site.instances;
    for (uint32_t s = 0; s < gpu_.streams(); ++s) {
      if (s == waiter || last_[s] == kNoIndex) continue;
      const auto begin = gpu_.work.begin() + gpu_.stream_begin[s];
      const auto it = std::partition_point(begin, gpu_.work.begin() + last_[s] + 1,
                                           [&](const GpuWork& w) { return w.end_ns <= start + tolerance_ns_; });
      if (it == begin) continue;
      const uint32_t w = static_cast<uint32_t>(it - gpu_.work.begin()) - 1;
      const int64_t end = gpu_.work[w].end_ns;
      if (end > held_otherwise && end + kBindingNs >= start) ++site.backs[{s, last_[s] - w}];
    }
  }

  uint32_t next_work(uint32_t stream, int64_t time) const {
    const auto begin = launched_ns_.begin() + gpu_.stream_begin[stream];
    const auto end = launched_ns_.begin() + gpu_.stream_begin[stream + 1];
    const auto it = std::upper_bound(begin, end, time);
    return it == end ? kNoIndex : static_cast<uint32_t>(it - launched_ns_.begin());
  }

  // A call is before a collective when the next launch is one and the call is not the tail of the one before.
  bool before_collective(uint32_t c) const {
    const CallContext& context = contexts_.of_call[c];
    if (!contexts_.launches_communication(context.next_launch)) return false;
    const uint32_t scope = context.collective_scope;
    if (scope != kNoIndex) return !inside_previous_collective(c);
    if (contexts_.of_call[context.next_launch].collective_scope != kNoIndex) return false;
    return !contexts_.launches_communication(context.previous_launch) || context.previous_event_call != kNoIndex;
  }

  bool inside_previous_collective(uint32_t c) const {
    const CallContext& context = contexts_.of_call[c];
    return context.collective_scope != kNoIndex && contexts_.launches_communication(context.previous_launch) &&
           contexts_.of_call[context.previous_launch].collective_scope == context.collective_scope;
  }

  // Several waits with no record to be seen may as well mean as many collectives, if any are outstanding.
  bool forks(uint32_t c) const {
    if (has_records_) return true;
    const bool launched = contexts_.of_call[c].previous_launch != kNoIndex;
    return launched &&
           std::none_of(outstanding_.all().begin(), outstanding_.all().end(),
                        [&](const OutstandingPoint& r) { return !r.awaited && communication(r.point.stream); });
  }

  // A fork of `count` waits: the streams that this thread launches on next, so many of them, wait for the point.
  void fork(uint32_t c, uint32_t count, const StreamPoint& point) {
    uint32_t next = contexts_.of_call[c].next_launch;
    std::vector<uint32_t> waiters;
    for (uint32_t looked = 0; next != kNoIndex && waiters.size() < count && looked < kForkLaunches; ++looked) {
      const uint32_t stream = contexts_.launch_stream[next];
      const bool known = std::find(waiters.begin(), waiters.end(), stream) != waiters.end();
      if (stream != point.stream && !known) waiters.push_back(stream);
      next = contexts_.of_call[next].next_launch;
    }
    for (uint32_t waiter : waiters) add(waiter, point, site_of(c, 'f', kNoIndex), false);
  }

  uint32_t compute_stream(const CallContext& context) const {
    if (context.previous_compute_launch != kNoIndex) return contexts_.launch_stream[context.previous_compute_launch];
    if (context.next_compute_launch != kNoIndex) return contexts_.launch_stream[context.next_compute_launch];
    return kNoIndex;
  }

  uint32_t waiting_stream(const CallContext& context) const {
    if (context.next_compute_launch != kNoIndex) return contexts_.launch_stream[context.next_compute_launch];
    return compute_stream(context);
  }

  StreamPoint point_of(uint32_t stream) const {
    StreamPoint point;
    point.stream = stream;
    if (last_[stream] != kNoIndex) point.works.push_back(last_[stream]);
    for (const Pending& p : pending_[stream]) point.works.push_back(p.work);
    return point;
  }

  void add(uint32_t waiter, const StreamPoint& point, uint32_t site, bool recorded) {
    for (uint32_t work : point.works) {
      if (gpu_.work[work].stream == waiter) continue;
      bool known = false;
      for (Pending& p : pending_[waiter]) {
        if (gpu_.work[p.work].stream != gpu_.work[work].stream) continue;
        known = true;
        if (p.work < work) p = {work, site, recorded};  // works of a stream are numbered in order
      }
      if (!known) pending_[waiter].push_back({work, site, recorded});
    }
  }

  // Calls made from the same place: the two enclosing operators, what the waiting stream runs next, and the pattern.
  uint32_t site_of(uint32_t c, char pattern, uint32_t next) {
    uint64_t key = static_cast<uint64_t>(pattern);
    if (next != kNoIndex) key += 0x100ull * (static_cast<uint32_t>(table_.name[gpu_.work[next].row]) + 1);
    uint32_t r = host_.parent[host_.calls[c].row];
    for (int level = 0; level < 2 && r != kNoIndex; r = host_.parent[r]) {
      if (table_.kind[r] != EventKind::kCpuOp) continue;
      key = key * 0x9E3779B97F4A7C15ull + static_cast<uint32_t>(table_.name[r]) + 1;
      ++level;
    }
    auto [it, fresh] = site_ids_.try_emplace(key, static_cast<uint32_t>(sites_->size()));
    if (fresh) sites_->push_back({});
    return it->second;
  }

  const EventTable& table_;
  const HostProgram& host_;
  const GpuProgram& gpu_;
  const CallContexts& contexts_;
  const SyncRows& sync_rows_;
  int64_t tolerance_ns_;
  bool has_records_ = false;
  std::vector<int64_t> launched_ns_;
  EventPairs pairs_;
  std::vector<uint32_t> readings_;
  std::vector<WaitSite>* sites_ = nullptr;
  std::vector<uint32_t> last_;
  std::vector<std::vector<Pending>> pending_;
  OutstandingPoints outstanding_;
  tsl::robin_map<int64_t, StreamPoint> recorded_points_;
  tsl::robin_map<uint32_t, StreamPoint> last_record_;
  tsl::robin_map<uint64_t, uint32_t> site_ids_;
  std::vector<Candidate> edges_;
};

bool contradicts(const GpuProgram& gpu, const Candidate& edge, int64_t tolerance_ns) {
  return gpu.work[edge.source].end_ns > gpu.work[edge.waiting].start_ns + tolerance_ns;
}

// Counts the edges of each site and lets it choose its reading anew. True if any changed.
bool vote(const GpuProgram& gpu, const std::vector<Candidate>& edges, int64_t tolerance_ns,
          std::vector<WaitSite>& sites) {
  for (WaitSite& site : sites) site.edges = site.contradicted = 0;
  for (const Candidate& edge : edges) {
    if (edge.recorded) continue;
    ++sites[edge.site].edges;
    sites[edge.site].contradicted += contradicts(gpu, edge, tolerance_ns);
  }
  bool moved = false;
  for (WaitSite& site : sites) moved |= choose_reading(site);
  return moved;
}

}  // namespace

std::vector<StreamWait> find_stream_waits(const EventTable& table, const HostProgram& host, const GpuProgram& gpu,
                                          int64_t tolerance_ns, const StreamWaitOptions& options) {
  if (gpu.streams() < 2) return {};
  const CallContexts contexts = find_call_contexts(table, host, gpu);
  const SyncRows sync_rows(table, StreamIds(table, gpu), options.use_sync_rows);
  StreamMachine machine(table, host, gpu, contexts, sync_rows, tolerance_ns);
  std::vector<WaitSite> sites(1);  // site 0: recorded
  std::vector<Candidate> edges = machine.run(sites);
  for (int round = 1; round < kMaxRounds && vote(gpu, edges, tolerance_ns, sites); ++round) {
    for (WaitSite& site : sites) site.forget();
    edges = machine.run(sites);
  }
  vote(gpu, edges, tolerance_ns, sites);

  std::vector<StreamWait> out;
  out.reserve(edges.size());
  for (const Candidate& edge : edges) {
    if (contradicts(gpu, edge, tolerance_ns)) continue;
    out.push_back(
        {edge.waiting, edge.source, edge.recorded, edge.recorded ? uint8_t{100} : confidence_pct(sites[edge.site])});
  }
  std::sort(out.begin(), out.end(), [](const StreamWait& a, const StreamWait& b) {
    return a.waiting != b.waiting ? a.waiting < b.waiting : a.source < b.source;
  });
  return out;
}

}  // namespace lumos

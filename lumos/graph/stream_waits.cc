#include "lumos/graph/stream_waits.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <utility>

#include "lumos/graph/call_context.h"
#include "lumos/graph/wait_site.h"

namespace lumos {

namespace {

constexpr int kMaxRounds = 4;

// More points than this waiting to be waited for are never waited for.
constexpr size_t kMostOutstanding = 256;

// In fork_: a wait after the first of its fork.
constexpr uint32_t kForkMember = UINT32_MAX;
// How many launches ahead the streams of a fork may first be used.
constexpr uint32_t kForkLaunches = 64;

// A work that began this soon after another ended may have waited for it: a few times the usual event latency.
constexpr int64_t kBindingNs = 6000;

// A point of a stream's program: its last work and whatever the stream had been made to wait for since.
struct Point {
  uint32_t stream = kNoIndex;
  std::vector<uint32_t> works;
  uint32_t site = 0;
};

// An event recorded after something that a later wait may mean.
struct Record {
  uint32_t call = 0;  // the record call, or the launch itself where no record is seen
  Point point;
  bool awaited = false;
  bool settled = false;  // the host has waited for the device since: meant only where nothing newer can be
};

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

// cuda_sync rows by the correlation of their call.
class SyncRows {
 public:
  SyncRows(const EventTable& table, bool use) {
    if (!use) return;
    for (uint32_t row = 0; row < table.size(); ++row) {
      const SyncDetail* sync = table.sync_detail(row);
      if (!sync || table.correlation[row] < 0 || sync->stream < 0 || sync->wait_on_stream < 0) continue;
      by_call_[table.correlation[row]] = sync;
      if (sync->wait_on_record_correlation >= 0) {
        stream_of_record_[sync->wait_on_record_correlation] = sync->wait_on_stream;
      }
    }
  }
  const SyncDetail* of_wait(int64_t correlation) const {
    auto it = by_call_.find(correlation);
    return it == by_call_.end() ? nullptr : it->second;
  }
  int64_t stream_of_record(int64_t correlation) const {
    auto it = stream_of_record_.find(correlation);
    return it == stream_of_record_.end() ? -1 : it->second;
  }
  bool empty() const { return by_call_.empty(); }

 private:
  tsl::robin_map<int64_t, const SyncDetail*> by_call_;
  tsl::robin_map<int64_t, int64_t> stream_of_record_;
};

// Runs through all calls in time order with one state per stream: what was launched last, what is waited for.
class StreamMachine {
 public:
  StreamMachine(const EventTable& table, const HostProgram& host, const GpuProgram& gpu, const CallContexts& contexts,
                const SyncRows& sync_rows, int64_t tolerance_ns)
      : table_(table), host_(host), gpu_(gpu), contexts_(contexts), sync_rows_(sync_rows), tolerance_ns_(tolerance_ns) {
    for (const HostCall& call : host.calls) has_records_ |= call.kind == CallKind::kRecord;
    launched_ns_ = launch_order_ns(table, host, gpu);
    find_followed_records();
    for (uint32_t s = 0; s < gpu.streams(); ++s) {
      stream_of_id_[table.lanes[gpu.stream_lane[s]].tid] = s;
    }
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
        for (Record& r : outstanding_) r.settled = true;
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
        outstanding_.push_back({c, {stream, {w}, 0}, false});
      }
    }
  }

  void record(uint32_t c) {
    const CallContext& context = contexts_.of_call[c];
    const int64_t correlation = table_.correlation[host_.calls[c].row];
    const int64_t known = sync_rows_.stream_of_record(correlation);
    uint32_t stream = kNoIndex;
    if (known >= 0) {
      stream = stream_by_id(known);
    } else if (before_collective(c)) {
      stream = compute_stream(context);
    } else if (context.previous_launch != kNoIndex) {
      stream = contexts_.launch_stream[context.previous_launch];
    } else {
      stream = compute_stream(context);
    }
    if (stream == kNoIndex) return;
    Point point = point_of(stream);
    if (known >= 0) recorded_points_[correlation] = point;
    last_record_[c] = point;
    // The end of a collective is outstanding already; another stream's record may be waited for much later.
    if (!contexts_.communication_stream[stream] && !before_collective(c) && !followed_[c]) {
      outstanding_.push_back({c, std::move(point), false});
    }
  }

  void wait(uint32_t c) {
    const int64_t correlation = table_.correlation[host_.calls[c].row];
    if (const SyncDetail* sync = sync_rows_.of_wait(correlation)) {
      recorded_wait(*sync);
      return;
    }
    const CallContext& context = contexts_.of_call[c];
    const bool paired = context.previous_event_call != kNoIndex &&
                        host_.calls[context.previous_event_call].kind == CallKind::kRecord &&
                        same_parent(context.previous_event_call, c);
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
    if (fork_[c] > 1 && forks(c)) {
      const auto it = last_record_.find(context.previous_event_call);
      if (fork_[c] == kForkMember) return;
      if (it != last_record_.end()) fork(c, fork_[c], it->second);
      if (!has_records_) fork(c, fork_[c], point_of(contexts_.launch_stream[context.previous_launch]));
      return;
    }
    const uint32_t waiter = waiting_stream(context);
    if (waiter == kNoIndex) return;
    if (paired) {
      const auto it = last_record_.find(context.previous_event_call);
      if (it != last_record_.end() && it->second.stream != waiter) {
        add(waiter, it->second, site_of(c, 'q', kNoIndex), false);
        mark_awaited(it->second.stream);
      }
      return;
    }
    lone_wait(c, waiter);
  }

  void recorded_wait(const SyncDetail& sync) {
    const uint32_t waiter = stream_by_id(sync.stream);
    const uint32_t source = stream_by_id(sync.wait_on_stream);
    if (waiter == kNoIndex || source == kNoIndex || waiter == source) return;
    const auto it = recorded_points_.find(sync.wait_on_record_correlation);
    if (it != recorded_points_.end())
      add(waiter, it->second, 0, true);
    else if (sync.wait_on_record_correlation < 0)
      add(waiter, point_of(source), 0, true);
    mark_awaited(source);
  }

  // work.wait(), event.wait(): which of the outstanding points it means is the site's reading.
  void lone_wait(uint32_t c, uint32_t waiter) {
    drop_awaited();
    if (!has_records_) add_current_points(c, waiter);
    const uint32_t next = next_work(waiter, table_.ts_ns[host_.calls[c].row]);
    const uint32_t last_launch = contexts_.of_call[c].previous_launch;
    const bool immediate = std::any_of(outstanding_.begin(), outstanding_.end(), [&](auto& r) {
      return !r.awaited && r.point.stream != waiter && r.call == last_launch;
    });
    const uint32_t site = site_of(c, immediate ? 'i' : 'l', next);
    find_readings(c, waiter);
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
    const Point point = outstanding_[chosen].point;
    // What was enqueued before on the same stream is waited for as well.
    for (uint32_t i = 0; i <= chosen; ++i) outstanding_[i].awaited |= outstanding_[i].point.stream == point.stream;
    add(waiter, point, site, false);
  }

  // Where the trace has waits but no records (old Kineto, ROCm), a wait may mean whatever each compute stream has come
  // to; the stream that the thread launched on last is the nearest guess, so it goes last.
  void add_current_points(uint32_t c, uint32_t waiter) {
    outstanding_.erase(std::remove_if(outstanding_.begin(), outstanding_.end(),
                                      [&](const Record& r) { return !communication(r.point.stream); }),
                       outstanding_.end());
    const uint32_t last = contexts_.of_call[c].previous_launch;
    const uint32_t near = last == kNoIndex ? kNoIndex : contexts_.launch_stream[last];
    for (uint32_t s = 0; s <= gpu_.streams(); ++s) {
      const uint32_t stream = s == gpu_.streams() ? near : s;
      if (stream == kNoIndex || stream == waiter || communication(stream) || last_[stream] == kNoIndex) continue;
      if (s < gpu_.streams() && stream == near) continue;
      outstanding_.push_back({stream == near ? last : c, point_of(stream), false});
    }
  }

  bool communication(uint32_t stream) const { return contexts_.communication_stream[stream]; }

  // Which outstanding point each reading means here, as indexes into outstanding_.
  void find_readings(uint32_t c, uint32_t waiter) {
    readings_.assign(kFirstStream + kReadingsPerStream * gpu_.streams(), kNoIndex);
    const uint32_t last_launch = contexts_.of_call[c].previous_launch;
    chain(host_.calls[c].row, chain_b_);
    int deepest = -1;
    for (uint32_t i = 0; i < outstanding_.size(); ++i) {
      const Record& r = outstanding_[i];
      if (r.awaited || r.settled || r.point.stream == waiter) continue;
      const int depth = r.call == last_launch ? INT32_MAX : common_depth(r.call);
      // Of points equally near in structure a collective is waited for in the order of launches, an event recorded on a
      // compute stream right after it was recorded.
      if (depth > deepest || (depth == deepest && !communication(r.point.stream))) {
        deepest = depth;
        readings_[kStructure] = i;
      }
      if (readings_[kOldest] == kNoIndex) readings_[kOldest] = i;
      readings_[kNewest] = i;
      uint32_t* of_stream = &readings_[kFirstStream + kReadingsPerStream * r.point.stream];
      if (of_stream[0] == kNoIndex) of_stream[0] = i;
      of_stream[1] = i;
    }
    if (readings_[kNewest] != kNoIndex) return;
    for (uint32_t i = 0; i < outstanding_.size(); ++i) {
      const Record& r = outstanding_[i];
      if (!r.awaited && r.point.stream != waiter) readings_[kStructure] = readings_[kOldest] = readings_[kNewest] = i;
    }
  }

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

  bool same_parent(uint32_t a, uint32_t b) const {
    return host_.parent[host_.calls[a].row] == host_.parent[host_.calls[b].row];
  }

  // Records whose next call on the thread is a wait in the same operator: a pair. Several waits after one record are a
  // fork: as many streams wait for the same point.
  void find_followed_records() {
    followed_.assign(host_.calls.size(), false);
    fork_.assign(host_.calls.size(), 0);
    std::vector<uint32_t> previous(host_.threads.size(), kNoIndex), head(host_.threads.size(), kNoIndex);
    for (uint32_t c = 0; c < host_.calls.size(); ++c) {
      const uint32_t thread = host_.calls[c].thread;
      const bool launches = contexts_.launch_stream[c] != kNoIndex;
      const CallKind kind = host_.calls[c].kind;
      const bool asks = kind == CallKind::kOther || kind == CallKind::kPoll || kind == CallKind::kMayBlock;
      if (asks && !launches) continue;  // all else between two event calls, a synchronise too, parts them
      const uint32_t before = std::exchange(previous[thread], c);
      const bool waits = before != kNoIndex && host_.calls[c].kind == CallKind::kWait && same_parent(before, c);
      if (waits && host_.calls[before].kind == CallKind::kRecord) {
        followed_[before] = true;
        head[thread] = c;
        fork_[c] = 1;
      } else if (waits && host_.calls[before].kind == CallKind::kWait && in_fork(before, c, head[thread])) {
        if (head[thread] == kNoIndex) fork_[head[thread] = before] = 1;
        ++fork_[head[thread]];
        fork_[c] = kForkMember;
      } else {
        head[thread] = kNoIndex;
      }
    }
  }

  // Producers without record calls still number them: waits with nothing between them share the record before.
  bool in_fork(uint32_t before, uint32_t c, uint32_t head) const {
    if (has_records_) return head != kNoIndex;
    return table_.correlation[host_.calls[c].row] == table_.correlation[host_.calls[before].row] + 1;
  }

  // Several waits with no record to be seen may as well mean as many collectives, if any are outstanding.
  bool forks(uint32_t c) const {
    if (has_records_) return true;
    const bool launched = contexts_.of_call[c].previous_launch != kNoIndex;
    return launched && std::none_of(outstanding_.begin(), outstanding_.end(),
                                    [&](const Record& r) { return !r.awaited && communication(r.point.stream); });
  }

  // A fork of `count` waits: the streams that this thread launches on next, so many of them, wait for the point.
  void fork(uint32_t c, uint32_t count, const Point& point) {
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

  uint32_t stream_by_id(int64_t id) const {
    auto it = stream_of_id_.find(id);
    return it == stream_of_id_.end() ? kNoIndex : it->second;
  }

  Point point_of(uint32_t stream) const {
    Point point;
    point.stream = stream;
    if (last_[stream] != kNoIndex) point.works.push_back(last_[stream]);
    for (const Pending& p : pending_[stream]) point.works.push_back(p.work);
    return point;
  }

  void add(uint32_t waiter, const Point& point, uint32_t site, bool recorded) {
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

  void mark_awaited(uint32_t stream) {
    for (Record& r : outstanding_) r.awaited |= r.point.stream == stream;
  }

  // Points that were waited for are gone; of those that never are, only the latest can still be meant.
  void drop_awaited() {
    std::erase_if(outstanding_, [](const Record& r) { return r.awaited; });
    if (outstanding_.size() > kMostOutstanding) {
      outstanding_.erase(outstanding_.begin(),
                         outstanding_.begin() + static_cast<std::ptrdiff_t>(outstanding_.size() - kMostOutstanding));
    }
  }

  // Number of operators around call `a` that are also around the call whose chain is in chain_b_ (outermost last);
  // annotations of whole steps do not count.
  int common_depth(uint32_t a) {
    chain(host_.calls[a].row, chain_a_);
    const size_t most = std::min(chain_a_.size(), chain_b_.size());
    size_t depth = 0;
    while (depth < most && chain_a_[chain_a_.size() - 1 - depth] == chain_b_[chain_b_.size() - 1 - depth]) ++depth;
    return static_cast<int>(depth);
  }

  void chain(uint32_t row, std::vector<uint32_t>& out) const {
    out.clear();
    for (uint32_t r = host_.parent[row]; r != kNoIndex; r = host_.parent[r]) {
      if (table_.kind[r] == EventKind::kCpuOp || table_.kind[r] == EventKind::kModule) out.push_back(r);
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
  std::vector<bool> followed_;
  std::vector<uint32_t> fork_;  // of the first wait after a record: how many follow; kForkMember: one of those
  std::vector<uint32_t> readings_;
  std::vector<WaitSite>* sites_ = nullptr;
  std::vector<uint32_t> last_;
  std::vector<std::vector<Pending>> pending_;
  std::vector<Record> outstanding_;
  tsl::robin_map<int64_t, Point> recorded_points_;
  tsl::robin_map<uint32_t, Point> last_record_;
  tsl::robin_map<int64_t, uint32_t> stream_of_id_;
  tsl::robin_map<uint64_t, uint32_t> site_ids_;
  std::vector<Candidate> edges_;
  std::vector<uint32_t> chain_a_, chain_b_;
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
  const SyncRows sync_rows(table, options.use_sync_rows);
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

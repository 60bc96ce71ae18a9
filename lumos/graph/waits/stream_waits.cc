#include "lumos/graph/waits/stream_waits.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <utility>

#include "lumos/graph/host/call_context.h"
#include "lumos/graph/waits/communicators.h"
#include "lumos/graph/waits/current_stream.h"
#include "lumos/graph/waits/event_pairs.h"
#include "lumos/graph/waits/outstanding_points.h"
#include "lumos/graph/waits/sharded_units.h"
#include "lumos/graph/waits/stream_states.h"
#include "lumos/graph/waits/sync_rows.h"
#include "lumos/graph/waits/wait_site.h"

namespace lumos {

namespace {

constexpr int kMaxRounds = 4;

// How many launches ahead the streams of a fork may first be used.
constexpr uint32_t kForkLaunches = 64;

// A work that began this soon after another ended may have waited for it: a few times the usual event latency.
constexpr int64_t kBindingNs = 6000;

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
        current_(table, host, contexts),
        streams_(gpu),
        outstanding_(table, host, contexts) {
    for (const HostCall& call : host.calls) has_records_ |= call.kind == CallKind::kRecord;
    launched_ns_ = launch_order_ns(table, host, gpu);
    pairs_ = find_event_pairs(table, host, contexts, has_records_);
    units_ = find_unit_events(table, host, gpu, contexts, current_, pairs_);
    communicator_order_ = find_communicator_order(table, host, gpu, contexts, tolerance_ns);
  }

  // One pass with the sites' present choices; new sites are added as they are met.
  std::vector<WaitCandidate> run(std::vector<WaitSite>& sites) {
    sites_ = &sites;
    streams_ = StreamStates(gpu_);
    threads_.assign(host_.threads.size(), {});
    outstanding_.clear();
    recorded_points_.clear();
    points_.clear();
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
  struct Thread {
    std::vector<uint32_t> brought_in;  ///< collective operations that brought a stream in since the last launch
    std::vector<uint32_t> used;        ///< streams launched on since the last row of pairs, the latest last
    bool ended = false;                ///< waits behind the last record mean works: of its collective, or of others
  };
  /// What a record stands for: the point of the stream that was probably the current one, and that of the other.
  struct Recorded {
    StreamPoint point;
    StreamPoint twin;
  };

  void launch(uint32_t c) {
    Thread& thread = threads_[host_.calls[c].thread];
    outstanding_.end_uses();
    for (uint32_t i = gpu_.by_call_begin[c]; i < gpu_.by_call_begin[c + 1]; ++i) {
      const uint32_t w = gpu_.by_call[i];
      const uint32_t stream = gpu_.work[w].stream;
      if (const uint32_t before = communicator_order_[w]; before != kNoIndex) {
        streams_.wait(stream, {gpu_.work[before].stream, {before}}, site_of(c, 'c', kNoIndex), false);
      }
      streams_.launch(w, edges_);
      // A collective may be waited for whether or not its end was seen to be recorded.
      if (communication(stream)) {
        outstanding_.push(c, {stream, {w}}, std::max<uint32_t>(1, operations_of(c, thread)));
      } else {
        std::erase(thread.used, stream);
        thread.used.push_back(stream);
      }
    }
    thread.brought_in.clear();
  }

  // How many operations a launch runs: point-to-point ones that stand side by side are one kernel.
  uint32_t operations_of(uint32_t c, const Thread& thread) const {
    const uint32_t own = contexts_.of_call[c].collective_scope;
    return static_cast<uint32_t>(std::count_if(thread.brought_in.begin(), thread.brought_in.end(),
                                               [&](uint32_t scope) { return scope != own; }));
  }

  void record(uint32_t c) {
    const int64_t correlation = table_.correlation[host_.calls[c].row];
    if (units_.records(c)) points_[c].point = streams_.point_of(units_.record_stream[c]);
    if (const uint32_t* known = sync_rows_.stream_of_record(correlation)) {
      if (*known != kNoIndex) record_on(c, {*known, kNoIndex}, &recorded_points_[correlation]);
    } else if (!units_.records(c) && !of_collective_on_current_stream(c)) {
      record_on(c, recorded_stream(c), nullptr);
    }
  }

  void record_on(uint32_t c, const CurrentStream& stream, StreamPoint* named) {
    if (stream.likely == kNoIndex) return;
    StreamPoint point = streams_.point_of(stream.likely);
    if (named != nullptr) *named = point;
    if (units_.records(c)) return;
    const bool apart = parted_from_waits(c);
    threads_[host_.calls[c].thread].ended = apart || (communication(stream.likely) && !before_collective(c));
    points_[c] = {point, stream.other == kNoIndex ? StreamPoint() : streams_.point_of(stream.other)};
    // The end of a collective is outstanding already; another stream's record may be waited for much later.
    if (!communication(stream.likely) && !before_collective(c) && (apart || !pairs_.followed[c])) {
      outstanding_.push(c, std::move(point));
    }
  }

  CurrentStream recorded_stream(uint32_t c) const {
    const CallContext& context = contexts_.of_call[c];
    if (before_collective(c) || context.previous_launch == kNoIndex) return current_.at(c);
    // A process group records the end of its collective, and what runs on a stream is mostly recorded right behind it.
    // Beside a wait, or behind one that was made since, the record is the program's own.
    const uint32_t scope = contexts_.of_call[context.previous_launch].collective_scope;
    // What is coalesced ends outside of its operators.
    const bool collective = scope != kNoIndex && table_.kind[scope] == EventKind::kCpuOp;
    const bool own = pairs_.followed[c] || waited_since_launch(context);
    if (collective && own && context.collective_scope == kNoIndex && context.previous_compute_launch != kNoIndex) {
      return {contexts_.launch_stream[context.previous_compute_launch], kNoIndex};
    }
    return {contexts_.launch_stream[context.previous_launch], kNoIndex};
  }

  // A record for later, with waits for collectives right behind it by chance: the same stream is launched on before and
  // after, and the operator has collectives that were not waited for.
  bool parted_from_waits(uint32_t c) {
    const CallContext& context = contexts_.of_call[c];
    const uint32_t before = context.previous_compute_launch, after = context.next_compute_launch;
    if (!pairs_.followed[c] || context.collective_scope != kNoIndex || before == kNoIndex || after == kNoIndex)
      return false;
    return contexts_.launch_stream[before] == contexts_.launch_stream[after] && outstanding_.collective_near(c);
  }

  bool waited_since_launch(const CallContext& context) const {
    const uint32_t before = context.previous_event_call;
    return before != kNoIndex && host_.calls[before].kind == CallKind::kWait &&
           contexts_.of_call[before].collective_scope == kNoIndex;
  }

  void wait(uint32_t c) {
    const int64_t correlation = table_.correlation[host_.calls[c].row];
    if (const RecordedWait* recorded = sync_rows_.of_wait(correlation)) return recorded_wait(*recorded);
    if (units_.waits_for_unit(c)) {
      const UnitWait& wait = units_.waits[c];
      streams_.wait(wait.stream, points_[wait.record].point, site_of(c, 'u', kNoIndex), false);
      return;
    }
    if (of_collective_on_current_stream(c)) return;
    const CallContext& context = contexts_.of_call[c];
    const bool paired = context.previous_event_call != kNoIndex &&
                        host_.calls[context.previous_event_call].kind == CallKind::kRecord &&
                        same_operator(host_, context.previous_event_call, c);
    if (before_collective(c)) return bring_in(c, paired);
    // NCCL's own bookkeeping stream.
    if (paired && (inside_previous_collective(c) || right_behind_collective(context.previous_event_call))) return;
    const bool of_row = pairs_.fork[c] != 0 && !(has_records_ && threads_[host_.calls[c].thread].ended);
    if (of_row && pairs_.fork[c] == kForkMember && forks(c)) return;
    if (of_row && pairs_.fork[c] > 1 && forks(c)) return row_of_pairs(c);
    if (paired && of_row) return pair(c);
    // Without records what repeats decides, and it does so for the stream launched on next.
    const CurrentStream waiter = has_records_ ? current_.at(c) : CurrentStream{waiting_stream(context), kNoIndex};
    if (waiter.likely != kNoIndex) lone_wait(c, waiter);
  }

  void recorded_wait(const RecordedWait& recorded) {
    const uint32_t waiter = recorded.waiting_stream;
    const uint32_t source = recorded.source_stream;
    if (waiter == kNoIndex || source == kNoIndex || waiter == source) return;
    const auto it = recorded_points_.find(recorded.record_correlation);
    if (it != recorded_points_.end())
      streams_.wait(waiter, it->second, 0, true);
    else if (recorded.record_correlation < 0)
      streams_.wait(waiter, streams_.point_of(source), 0, true);
    outstanding_.mark_awaited(source);
  }

  // The stream of a collective waits for the current one.
  void bring_in(uint32_t c, bool paired) {
    const CallContext& context = contexts_.of_call[c];
    std::vector<uint32_t>& scopes = threads_[host_.calls[c].thread].brought_in;
    const uint32_t scope = context.collective_scope;
    if (scope != kNoIndex && std::find(scopes.begin(), scopes.end(), scope) == scopes.end()) scopes.push_back(scope);
    const uint32_t waiter = contexts_.launch_stream[context.next_launch];
    const auto it = paired ? points_.find(context.previous_event_call) : points_.end();
    if (it != points_.end()) {
      choose(c, 'p', waiter, it->second.point, waiter, it->second.twin);
    } else if (const CurrentStream compute = current_.at(c); compute.likely != kNoIndex) {
      streams_.wait(waiter, streams_.point_of(compute.likely), site_of(c, 'p', kNoIndex), false);
    }
  }

  // Of two meanings of a wait the second is taken where time contradicts the first, over the repetitions of its site. A
  // point without works means nothing. True if it was the first.
  bool choose(uint32_t c, char pattern, uint32_t waiter, const StreamPoint& point, uint32_t other_waiter,
              const StreamPoint& other) {
    const uint32_t site = site_of(c, pattern, kNoIndex);
    if (other.works.empty()) {
      streams_.wait(waiter, point, site, false);
      return true;
    }
    WaitSite& s = (*sites_)[site];
    s.scores.resize(2);
    count(s.scores[0], point, next_work(waiter, table_.ts_ns[host_.calls[c].row]));
    count(s.scores[1], other, next_work(other_waiter, table_.ts_ns[host_.calls[c].row]));
    const bool first = s.reading == 0;
    streams_.wait(first ? waiter : other_waiter, first ? point : other, site, false);
    return first;
  }

  void count(ReadingScore& score, const StreamPoint& point, uint32_t next) const {
    if (next == kNoIndex || point.works.empty()) return;
    ++score.seen;
    score.contradicted += gpu_.work[point.works.front()].end_ns > gpu_.work[next].start_ns + tolerance_ns_;
  }

  // wait_stream(): a stream is made to wait for the current one, or the current one for it. Where the streams launched
  // on before and after it differ, the second waits for the first. Else another stream is meant: one that was launched
  // on since the last such call, as its work must be joined, or one that is launched on next, which is forked.
  void pair(uint32_t c) {
    const CallContext& context = contexts_.of_call[c];
    const auto it = points_.find(context.previous_event_call);
    const uint32_t waiter = waiting_stream(context);
    if (it == points_.end() || waiter == kNoIndex) return;
    const StreamPoint& point = it->second.point;
    if (point.stream != waiter) {
      streams_.wait(waiter, point, site_of(c, 'q', kNoIndex), false);
      outstanding_.mark_awaited(point.stream);
    } else {
      const std::vector<uint32_t> joined = unjoined_streams(c, waiter), forked = next_streams(c, 1, waiter);
      const StreamPoint join = joined.empty() ? StreamPoint() : streams_.point_of(joined.back());
      const bool joins = !joined.empty();
      const StreamPoint fork = forked.empty() ? StreamPoint() : point;
      const uint32_t forks_to = forked.empty() ? waiter : forked[0];
      if (joins ? choose(c, 'j', waiter, join, forks_to, fork) : forked.empty()) {
        if (joins) outstanding_.mark_awaited(joined.back());
      } else if (!joins) {
        streams_.wait(forks_to, fork, site_of(c, 'f', kNoIndex), false);
      }
    }
    threads_[host_.calls[c].thread].used.clear();
  }

  // Several waits in a row: a fork to as many streams, or, where each has a record of its own and side streams have
  // been launched on just before, a join of as many.
  void row_of_pairs(uint32_t c) {
    const CallContext& context = contexts_.of_call[c];
    const uint32_t count = pairs_.fork[c];
    const auto it = points_.find(context.previous_event_call);
    if (!has_records_) {
      fork(c, streams_.point_of(contexts_.launch_stream[context.previous_launch]));
    } else if (it != points_.end()) {
      const uint32_t usual = current_.usual(host_.calls[c].thread);
      const uint32_t after = waiting_stream(context);
      const std::vector<uint32_t> joined = unjoined_streams(c, after);
      if (pairs_.records[c] == count && after == usual && joined.size() >= count && it->second.point.stream != after) {
        for (uint32_t stream : joined)
          streams_.wait(after, streams_.point_of(stream), site_of(c, 'j', kNoIndex), false);
      } else {
        fork(c, it->second.point);
      }
    }
    threads_[host_.calls[c].thread].used.clear();
  }

  // The streams that this thread launches on next wait for the point, so many of them as there are waits.
  void fork(uint32_t c, const StreamPoint& point) {
    for (uint32_t waiter : next_streams(c, pairs_.fork[c], point.stream)) {
      streams_.wait(waiter, point, site_of(c, 'f', kNoIndex), false);
    }
  }

  // The next `count` streams other than `except` that the thread of call `c` launches on.
  std::vector<uint32_t> next_streams(uint32_t c, uint32_t count, uint32_t except) const {
    std::vector<uint32_t> out;
    uint32_t next = contexts_.of_call[c].next_launch;
    for (uint32_t looked = 0; next != kNoIndex && out.size() < count && looked < kForkLaunches; ++looked) {
      const uint32_t stream = contexts_.launch_stream[next];
      const bool brought_in = communication(stream) && contexts_.of_call[next].collective_scope != kNoIndex;
      if (stream != except && !brought_in && std::find(out.begin(), out.end(), stream) == out.end()) {
        out.push_back(stream);
      }
      next = contexts_.of_call[next].next_launch;
    }
    return out;
  }

  // Streams that the thread has launched on since its last row of pairs and that none was made to wait for since.
  std::vector<uint32_t> unjoined_streams(uint32_t c, uint32_t except) const {
    std::vector<uint32_t> out;
    for (uint32_t stream : threads_[host_.calls[c].thread].used) {
      if (stream != except && streams_.unjoined(stream)) out.push_back(stream);
    }
    return out;
  }

  // work.wait(), event.wait(): which of the outstanding points it means is the site's reading.
  void lone_wait(uint32_t c, const CurrentStream& waiter) {
    outstanding_.drop_awaited(table_.ts_ns[host_.calls[c].row]);
    if (!has_records_) add_current_points(c, waiter.likely);
    const int64_t now = table_.ts_ns[host_.calls[c].row];
    const uint32_t next = next_work(waiter.likely, now);
    const uint32_t next_other = waiter.other == kNoIndex ? kNoIndex : next_work(waiter.other, now);
    const uint32_t last_launch = contexts_.of_call[c].previous_launch;
    const bool immediate = std::any_of(outstanding_.all().begin(), outstanding_.all().end(), [&](auto& r) {
      return !r.awaited && r.point.stream != waiter.likely && r.call == last_launch;
    });
    const uint32_t site = site_of(c, immediate ? 'i' : 'l', next);
    outstanding_.find_readings(c, waiter.likely, waiter.other, gpu_.streams(), readings_);
    score(site, next, next_other);
    const WaitSite& s = (*sites_)[site];
    if (s.back_stream != kNoIndex) {
      const uint32_t latest = streams_.last(s.back_stream);
      if (latest != kNoIndex && latest >= gpu_.stream_begin[s.back_stream] + s.back) {
        streams_.wait(waiter.likely, {s.back_stream, {latest - s.back}}, site, false);
      }
      return;
    }
    uint32_t chosen = s.refused || s.reading >= readings_.size() ? kNoIndex : readings_[s.reading];
    uint32_t waits = s.reading % 2 == 1 && waiter.other != kNoIndex ? waiter.other : waiter.likely;
    // A reading that means nothing here (no point on its stream) leaves the wait to its structure.
    if (chosen == kNoIndex && !s.refused) {
      chosen = readings_[kStructure];
      waits = waiter.likely;
    }
    if (chosen == kNoIndex) return;
    // What was enqueued before on the same stream is waited for as well.
    outstanding_.mark_awaited_up_to(chosen);
    streams_.wait(waits, outstanding_[chosen].point, site, false);
  }

  // Where the trace has waits but no records (old Kineto, ROCm), a wait may mean whatever each compute stream has come
  // to; the stream that the thread launched on last is the nearest guess, so it goes last.
  void add_current_points(uint32_t c, uint32_t waiter) {
    outstanding_.keep_communication();
    const uint32_t last = contexts_.of_call[c].previous_launch;
    const uint32_t near = last == kNoIndex ? kNoIndex : contexts_.launch_stream[last];
    for (uint32_t s = 0; s <= gpu_.streams(); ++s) {
      const uint32_t stream = s == gpu_.streams() ? near : s;
      if (stream == kNoIndex || stream == waiter || communication(stream) || streams_.last(stream) == kNoIndex)
        continue;
      if (s < gpu_.streams() && stream == near) continue;
      outstanding_.push(stream == near ? last : c, streams_.point_of(stream));
    }
  }

  bool communication(uint32_t stream) const { return contexts_.communication_stream[stream]; }

  void score(uint32_t site, uint32_t next, uint32_t next_other) {
    std::vector<ReadingScore>& scores = (*sites_)[site].scores;
    scores.resize(readings_.size());
    if (next == kNoIndex) return;
    const int64_t start = gpu_.work[next].start_ns;
    if (!has_records_) score_backs((*sites_)[site], gpu_.work[next].stream, start, held_otherwise(next));
    const WaitSite& s = (*sites_)[site];
    const uint32_t chosen = s.reading < readings_.size() ? readings_[s.reading] : kNoIndex;
    bool ambiguous = false;
    for (uint32_t r = 0; r < readings_.size(); ++r) {
      const uint32_t waiting = r % 2 == 1 ? next_other : next;
      if (waiting == kNoIndex || readings_[r] == kNoIndex) continue;
      if (outstanding_[readings_[r]].point.works.empty()) continue;
      const int64_t end = gpu_.work[outstanding_[readings_[r]].point.works.front()].end_ns;
      const int64_t begin = gpu_.work[waiting].start_ns;
      const bool fits = end <= begin + tolerance_ns_;
      ++scores[r].seen;
      scores[r].contradicted += !fits;
      ambiguous |= readings_[r] != chosen && fits && r % 2 == 0;
      scores[r].binding += end > held_otherwise(waiting) && fits && end + kBindingNs >= begin;
    }
    ++(*sites_)[site].lone;
    (*sites_)[site].ambiguous += ambiguous;
  }

  // When a work could have begun if it had waited for nothing on another stream.
  int64_t held_otherwise(uint32_t w) const {
    const bool first = w == gpu_.stream_begin[gpu_.work[w].stream];
    return std::max(first ? INT64_MIN : gpu_.work[w - 1].end_ns, launched_ns_[w]);
  }

  // Without records the point that a wait means cannot be seen, but a program that repeats itself means the same one
  // each time: as many works before the stream's latest. Counts, per stream, how far back the work is that ended just
  // when the waiter began.
  void score_backs(WaitSite& site, uint32_t waiter, int64_t start, int64_t held_otherwise) const {
    ++site.instances;
    for (uint32_t s = 0; s < gpu_.streams(); ++s) {
      const uint32_t last = streams_.last(s);
      if (s == waiter || last == kNoIndex) continue;
      const auto begin = gpu_.work.begin() + gpu_.stream_begin[s];
      const auto it = std::partition_point(begin, gpu_.work.begin() + last + 1,
                                           [&](const GpuWork& w) { return w.end_ns <= start + tolerance_ns_; });
      if (it == begin) continue;
      const uint32_t w = static_cast<uint32_t>(it - gpu_.work.begin()) - 1;
      const int64_t end = gpu_.work[w].end_ns;
      if (end > held_otherwise && end + kBindingNs >= start) ++site.backs[{s, last - w}];
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

  // The record of NCCL's own pair behind a kernel whose operator is not shown.
  bool right_behind_collective(uint32_t record) const {
    const CallContext& context = contexts_.of_call[record];
    return contexts_.pair_behind_collectives && context.previous_event_call == kNoIndex &&
           contexts_.launches_communication(context.previous_launch) &&
           contexts_.of_call[context.previous_launch].collective_scope == kNoIndex;
  }

  // An event call of a collective that runs on the thread's current stream: NCCL's own bookkeeping.
  bool of_collective_on_current_stream(uint32_t c) const {
    const CallContext& context = contexts_.of_call[c];
    const uint32_t scope = context.collective_scope;
    const auto launches = [&](uint32_t launch) {
      return launch != kNoIndex && contexts_.of_call[launch].collective_scope == scope &&
             !communication(contexts_.launch_stream[launch]);
    };
    return scope != kNoIndex && (launches(context.next_launch) || launches(context.previous_launch));
  }

  // Several waits with no record to be seen may as well mean as many collectives, if any are outstanding.
  bool forks(uint32_t c) const {
    if (has_records_) return true;
    const bool launched = contexts_.of_call[c].previous_launch != kNoIndex;
    return launched &&
           std::none_of(outstanding_.all().begin(), outstanding_.all().end(),
                        [&](const OutstandingPoint& r) { return !r.awaited && communication(r.point.stream); });
  }

  // What a pair makes wait: the stream launched on next.
  uint32_t waiting_stream(const CallContext& context) const {
    if (context.next_compute_launch != kNoIndex) return contexts_.launch_stream[context.next_compute_launch];
    if (context.previous_compute_launch != kNoIndex) return contexts_.launch_stream[context.previous_compute_launch];
    return kNoIndex;
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
  CurrentStreams current_;
  std::vector<int64_t> launched_ns_;
  EventPairs pairs_;
  UnitEvents units_;
  std::vector<uint32_t> communicator_order_;
  std::vector<uint32_t> readings_;
  std::vector<WaitSite>* sites_ = nullptr;
  StreamStates streams_;
  std::vector<Thread> threads_;
  OutstandingPoints outstanding_;
  tsl::robin_map<int64_t, StreamPoint> recorded_points_;
  tsl::robin_map<uint32_t, Recorded> points_;
  tsl::robin_map<uint64_t, uint32_t> site_ids_;
  std::vector<WaitCandidate> edges_;
};

bool contradicts(const GpuProgram& gpu, const WaitCandidate& edge, int64_t tolerance_ns) {
  return gpu.work[edge.source].end_ns > gpu.work[edge.waiting].start_ns + tolerance_ns;
}

// Counts the edges of each site and lets it choose its reading anew. True if any changed.
bool vote(const GpuProgram& gpu, const std::vector<WaitCandidate>& edges, int64_t tolerance_ns,
          std::vector<WaitSite>& sites) {
  for (WaitSite& site : sites) site.edges = site.contradicted = 0;
  for (const WaitCandidate& edge : edges) {
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
  std::vector<WaitCandidate> edges = machine.run(sites);
  for (int round = 1; round < kMaxRounds && vote(gpu, edges, tolerance_ns, sites); ++round) {
    for (WaitSite& site : sites) site.forget();
    edges = machine.run(sites);
  }
  vote(gpu, edges, tolerance_ns, sites);

  std::vector<StreamWait> out;
  out.reserve(edges.size());
  for (const WaitCandidate& edge : edges) {
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

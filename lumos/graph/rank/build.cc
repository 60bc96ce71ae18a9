#include "lumos/graph/rank/build.h"

#include <algorithm>

#include "lumos/graph/constants.h"
#include "lumos/graph/rank/first_wave.h"
#include "lumos/graph/rank/full_gpu.h"
#include "lumos/graph/rank/graph_draft.h"
#include "lumos/graph/rank/issue_order.h"
#include "lumos/graph/rank/rank_programs.h"
#include "lumos/graph/rank/rank_steps.h"

namespace lumos {

namespace {

// A work that begins this many launch latencies later than explained leaves a hole.
constexpr int64_t kHoleFactor = 10;

// Assembles the draft of one rank from its programs. Draft ids of segments and works are kept for edges and steps.
class Assembly {
 public:
  Assembly(const RankPrograms& programs, const ConstantTable& constants) : p_(programs), constants_(constants) {}

  void run() {
    sync_of_call_.assign(p_.host.calls.size(), kNoIndex);
    for (uint32_t i = 0; i < p_.sync_calls.size(); ++i) sync_of_call_[p_.sync_calls[i].call] = i;
    call_of_row_.assign(p_.table->size(), kNoIndex);
    for (uint32_t c = 0; c < p_.host.calls.size(); ++c) call_of_row_[p_.host.calls[c].row] = c;
    wait_of_segment_.assign(p_.host.segments.size(), kNoWait);
    for (const HandOff& wait : p_.hand_offs) wait_of_segment_[wait.segment] = wait.latency_ns;
    for (const HostTransferWait& wait : p_.host_transfers.waits) wait_of_segment_[wait.segment] = wait.latency_ns;
    blocked_.assign(p_.host.calls.size(), false);
    for (uint32_t c : p_.launch_queue.blocked) blocked_[c] = true;
    task_of_segment_.assign(p_.host.segments.size(), kNoIndex);
    return_of_sync_.assign(p_.sync_calls.size(), kNoIndex);
    draft.tasks.reserve(p_.host.segments.size() + 2 * p_.gpu.work.size());
    draft.edges.reserve(p_.host.segments.size() + 4 * p_.gpu.work.size());
    for (uint32_t t = 0; t < p_.host.threads.size(); ++t) add_thread(t);
    add_works();
    add_enqueuing();
    add_hand_offs();
    add_sync_edges();
  }

  // The draft task that begins (or ends with) a segment.
  uint32_t first_task(uint32_t segment) const { return task_of_segment_[segment]; }
  uint32_t last_task(uint32_t segment) const {
    // A segment inside a collapsed synchronise call has no task of its own: the call's return stands for it.
    while (task_of_segment_[segment] == kNoIndex && segment > 0) --segment;
    const uint32_t task = task_of_segment_[segment];
    const uint32_t row = p_.host.segments[segment].row;
    if (row == kNoIndex || call_of_row_[row] == kNoIndex) return task;
    const uint32_t sync = sync_of_call_[call_of_row_[row]];
    return sync == kNoIndex || return_of_sync_[sync] == kNoIndex ? task : return_of_sync_[sync];
  }
  uint32_t end_of_work(uint32_t w) const { return work_end_[w]; }

  GraphDraft draft;

 private:
  // A thread that only communicates: its operations arrive when they are put into its queue and the one before is over.
  void add_transfer_thread(uint32_t thread) {
    const HostThread& t = p_.host.threads[thread];
    uint32_t previous = kNoIndex;
    for (uint32_t i = t.first_segment; i < t.end_segment; ++i) {
      const uint32_t row = p_.host.segments[i].row;
      if (row == kNoIndex || p_.host.segment_of_row[row] != i) continue;
      DraftTask task;
      task.event = row;
      task.processor = thread;
      task.kind = TaskKind::kArrive;
      task.measured_start_ns = p_.table->ts_ns[row];
      const uint32_t arrive = draft.add(task);
      if (previous != kNoIndex) draft.depend(arrive, previous, EdgeKind::kThread);
      task.kind = TaskKind::kTransfer;
      task.duration_ns = p_.table->dur_ns[row];
      previous = draft.add(task);
      draft.depend(previous, arrive, EdgeKind::kTransferOf);
      task_of_segment_[i] = previous;
    }
  }

  void add_enqueuing() {
    const int64_t lag = constants_.value("enqueue", kDefaultEnqueueNs);
    for (const HostTransfer& transfer : p_.host_transfers.transfers) {
      const uint32_t arrive = task_of_segment_[transfer.segment] - 1;  // made just before its transfer
      if (transfer.enqueue_row == kNoIndex) {
        add_gap_before(arrive, p_.table->ts_ns[transfer.row]);
        continue;
      }
      const uint32_t segment = p_.host.segment_of_row[transfer.enqueue_row];
      if (segment != kNoIndex) draft.depend(arrive, task_of_segment_[segment], EdgeKind::kLaunch, lag, true);
    }
    for (const HostTransferWait& wait : p_.host_transfers.waits) {
      for (uint32_t t : wait.transfers) {
        const uint32_t transfer = task_of_segment_[p_.host_transfers.transfers[t].segment];
        draft.depend(task_of_segment_[wait.segment], transfer, EdgeKind::kSync, 0, false, false, 90);
      }
    }
  }

  // What was put into the queue before the recording began arrives when it was measured to: unexplained.
  void add_gap_before(uint32_t arrive, int64_t start_ns) {
    DraftTask gap;
    gap.kind = TaskKind::kGap;
    gap.event = draft.tasks[arrive].event;
    gap.measured_start_ns = p_.host.origin_ns;
    gap.duration_ns = start_ns - p_.host.origin_ns;
    draft.depend(arrive, draft.add(gap), EdgeKind::kThread);
  }

  void add_thread(uint32_t thread) {
    const HostThread& t = p_.host.threads[thread];
    if (p_.host_transfers.is_transfer_thread[thread]) return add_transfer_thread(thread);
    uint32_t previous = kNoIndex;
    uint32_t waits_for_room = kNoIndex;
    for (uint32_t i = t.first_segment; i < t.end_segment; ++i) {
      const HostSegment& segment = p_.host.segments[i];
      const uint32_t call = segment.is_call ? call_of_row_[segment.row] : kNoIndex;
      const uint32_t sync = call == kNoIndex ? kNoIndex : sync_of_call_[call];
      DraftTask task;
      task.event = segment.row;
      task.processor = thread;
      task.kind = segment.is_call ? TaskKind::kCall : TaskKind::kHost;
      task.duration_ns = segment.end_ns - segment.start_ns;
      task.measured_start_ns = segment.start_ns;
      // Time before a thread's first event, and waits for what the trace does not show, are no work: they stay as they
      // are.
      if (i == t.first_segment && segment.row == kNoIndex) task.kind = TaskKind::kGap;
      if (sync != kNoIndex && waits_unseen(p_.sync_calls[sync], task.duration_ns)) task.kind = TaskKind::kGap;
      if (sync != kNoIndex) task.duration_ns = entering_ns(p_.sync_calls[sync], task.duration_ns);
      if (call != kNoIndex && blocked_[call]) task.duration_ns = std::min(task.duration_ns, p_.launch_queue.call_ns);
      if (wait_of_segment_[i] != kNoWait) {
        task.kind = TaskKind::kHost;
        task.duration_ns = wait_of_segment_[i];
        task.measured_start_ns = segment.end_ns - wait_of_segment_[i];
      }
      const uint32_t id = draft.add(task);
      if (previous != kNoIndex) draft.depend(id, previous, EdgeKind::kThread);
      task_of_segment_[i] = id;
      if (waits_for_room != kNoIndex) room_.push_back({id, waits_for_room});
      waits_for_room = call != kNoIndex ? work_that_makes_room(call) : kNoIndex;
      previous = id;
      if (sync != kNoIndex) previous = add_return(sync, id, thread, i, t.end_segment);
    }
  }

  // With a full queue a launch returns when the work `depth` places before it on its stream has ended.
  uint32_t work_that_makes_room(uint32_t call) const {
    const uint32_t depth = p_.launch_queue.depth;
    if (depth == 0 || p_.gpu.by_call_begin[call + 1] - p_.gpu.by_call_begin[call] != 1) return kNoIndex;
    const uint32_t w = p_.gpu.by_call[p_.gpu.by_call_begin[call]];
    return w >= p_.gpu.stream_begin[p_.gpu.work[w].stream] + depth ? w - depth : kNoIndex;
  }

  // A call that had nothing to wait for costs what its kind costs; the measured time of a wait never counts. Only where
  // nothing in the trace can have held a call so long (work from before the recording, another device) is it kept.
  int64_t entering_ns(const SyncCall& sync, int64_t measured_ns) const {
    const HostCall& call = p_.host.calls[sync.call];
    if (waits_unseen(sync, measured_ns) || (call.kind == CallKind::kMayBlock && !sync.waited)) return measured_ns;
    return constants_.value(call_constant("call:", *p_.table, call), kDefaultCallNs);
  }

  bool waits_unseen(const SyncCall& sync, int64_t measured_ns) const {
    return !sync.waited && p_.host.calls[sync.call].kind != CallKind::kMayBlock &&
           measured_ns > p_.longest_plain_call_ns;
  }

  // The return of a synchronise call; segments inside the call are part of the wait and are passed over.
  uint32_t add_return(uint32_t sync, uint32_t enter, uint32_t thread, uint32_t& i, uint32_t end_segment) {
    const HostCall& call = p_.host.calls[p_.sync_calls[sync].call];
    const int64_t end = p_.table->end_ns(call.row);
    while (i + 1 < end_segment && p_.host.segments[i + 1].start_ns < end) ++i;
    DraftTask task;
    task.event = call.row;
    task.processor = thread;
    task.kind = TaskKind::kSyncReturn;
    task.measured_start_ns = std::max(end, p_.host.segments[i].end_ns);
    const uint32_t id = draft.add(task);
    draft.depend(id, enter, EdgeKind::kThread);
    return_of_sync_[sync] = id;
    return id;
  }

  void add_works() {
    const uint32_t threads = static_cast<uint32_t>(p_.host.threads.size());
    const uint32_t count = static_cast<uint32_t>(p_.gpu.work.size());
    work_begin_.resize(count);
    source_end_.assign(count, INT64_MIN);
    for (const StreamWait& wait : p_.stream_waits) {
      source_end_[wait.waiting] = std::max(source_end_[wait.waiting], p_.gpu.work[wait.source].end_ns);
    }
    work_end_.resize(count);
    for (uint32_t w = 0; w < count; ++w) {
      const GpuWork& work = p_.gpu.work[w];
      DraftTask task;
      task.event = work.row;
      task.processor = threads + work.stream;
      task.measured_start_ns = work.start_ns;
      task.duration_ns = work.end_ns - work.start_ns;
      if (work.communication) {
        DraftTask arrive = task;
        arrive.kind = TaskKind::kArrive;
        arrive.duration_ns = 0;
        work_begin_[w] = draft.add(arrive);
        task.kind = TaskKind::kTransfer;
        work_end_[w] = draft.add(task);
        draft.depend(work_end_[w], work_begin_[w], EdgeKind::kTransferOf);
        continue;
      }
      const EventKind kind = p_.table->kind[work.row];
      task.kind = kind == EventKind::kMemcpy   ? TaskKind::kMemcpy
                  : kind == EventKind::kMemset ? TaskKind::kMemset
                                               : TaskKind::kKernel;
      work_begin_[w] = work_end_[w] = draft.add(task);
    }
    for (uint32_t w = 0; w < count; ++w) add_work_edges(w);
    for (const FirstWave& wave : p_.first_waves) {
      draft.depend(work_begin_[wave.waiting], work_begin_[wave.running], EdgeKind::kFirstWave, wave.lag_ns, true,
                   false);
    }
    for (const IssueOrder& order : p_.issue_order) {
      draft.depend(work_begin_[order.later], work_begin_[order.earlier], EdgeKind::kIssueOrder, 0, true, false);
    }
    for (const Room& room : room_) {
      draft.depend(room.task, work_end_[room.work], EdgeKind::kQueue, p_.launch_queue.return_ns, false, false);
    }
    for (const StreamWait& wait : p_.stream_waits) {
      draft.depend(work_begin_[wait.waiting], work_end_[wait.source], EdgeKind::kInterStream,
                   constants_.value("event", kDefaultEventNs), false, wait.recorded, wait.confidence_pct);
    }
  }

  void add_work_edges(uint32_t w) {
    const GpuWork& work = p_.gpu.work[w];
    const uint32_t before = w > p_.gpu.stream_begin[work.stream] ? w - 1 : kNoIndex;
    const uint32_t launch = work.call == kNoIndex ? kNoIndex : p_.host.segment_of_row[p_.host.calls[work.call].row];
    if (launch == kNoIndex) {
      add_gap(w, before);
      return;
    }
    const uint32_t previous = p_.stream_predecessor[w];
    const int64_t dispatch = constants_.value(dispatch_constant(*p_.table, p_.gpu, work), kDefaultDispatchNs);
    if (previous != kNoIndex) draft.depend(work_begin_[w], work_end_[previous], EdgeKind::kStream, dispatch);
    if (before != kNoIndex && (before != previous || dispatch < 0)) {
      draft.depend(work_begin_[w], work_begin_[before], EdgeKind::kStream, 0, true);
    }
    const int64_t latency =
        constants_.value(call_constant("launch:", *p_.table, p_.host.calls[work.call]), kDefaultLaunchNs);
    if (p_.launches_late(work.call) && !blocked_[work.call] && sync_of_call_[work.call] == kNoIndex) {
      draft.depend(work_begin_[w], last_task_of_call(work.call), EdgeKind::kLaunch,
                   latency - p_.usual_call_ns[work.call]);
    } else {
      draft.depend(work_begin_[w], task_of_segment_[launch], EdgeKind::kLaunch, latency, true);
    }
    if (p_.launches_late(work.call)) return;
    if (before == kNoIndex) {
      // A stream that was busy with work from before the recording: an initial condition.
      add_hole(w, latency, p_.host.origin_ns, kNoIndex);
    } else if (p_.graph_launched(work) || p_.graph_launched(p_.gpu.work[before])) {
      // Within and after a graph launch the GPU needs no host: a hole is nodes that the profiler dropped.
      add_hole(w, latency, p_.gpu.work[before].end_ns, before);
    }
  }

  // The last segment of a call, nested calls included.
  uint32_t last_task_of_call(uint32_t call) const {
    const uint32_t row = p_.host.calls[call].row;
    uint32_t segment = p_.host.segment_of_row[row];
    const uint32_t end = p_.host.threads[p_.host.segments[segment].thread].end_segment;
    while (segment + 1 < end && p_.host.segments[segment + 1].start_ns < p_.table->end_ns(row)) ++segment;
    return last_task(segment);
  }

  // GPU time that nothing in the trace shows, from `since` (the end of `before`) to the work: kept as a gap,
  // unexplained.
  void add_hole(uint32_t w, int64_t latency, int64_t since, uint32_t before) {
    const GpuWork& work = p_.gpu.work[w];
    const int64_t explained =
        std::max({p_.launch_ns(work) + latency, source_end_[w], before == kNoIndex ? INT64_MIN : since});
    if (work.start_ns - explained <= kHoleFactor * latency) return;
    DraftTask gap;
    gap.kind = TaskKind::kGap;
    gap.event = work.row;
    gap.measured_start_ns = since;
    gap.duration_ns = work.start_ns - since;
    const uint32_t id = draft.add(gap);
    if (before != kNoIndex) draft.depend(id, work_end_[before], EdgeKind::kStream);
    draft.depend(work_begin_[w], id, EdgeKind::kStream);
  }

  // No launch in the trace: the time since the stream's last work (or since the beginning) is kept, as unexplained.
  void add_gap(uint32_t w, uint32_t before) {
    const GpuWork& work = p_.gpu.work[w];
    const int64_t since = before == kNoIndex ? p_.host.origin_ns : p_.gpu.work[before].end_ns;
    DraftTask gap;
    gap.kind = TaskKind::kGap;
    gap.event = work.row;
    gap.measured_start_ns = since;
    gap.duration_ns = std::max<int64_t>(0, work.start_ns - since);
    const uint32_t id = draft.add(gap);
    if (before != kNoIndex) draft.depend(id, work_end_[before], EdgeKind::kStream);
    draft.depend(work_begin_[w], id, EdgeKind::kStream);
  }

  void add_hand_offs() {
    for (const HandOff& wait : p_.hand_offs) {
      const uint32_t target = task_of_segment_[wait.segment];
      if (target != kNoIndex) {
        draft.depend(target, last_task(wait.source), EdgeKind::kInterThread, 0, false, false, 90);
      }
    }
  }

  void add_sync_edges() {
    for (uint32_t i = 0; i < p_.sync_calls.size(); ++i) {
      const SyncCall& sync = p_.sync_calls[i];
      if (return_of_sync_[i] == kNoIndex) continue;
      const HostCall& call = p_.host.calls[sync.call];
      int64_t lag = constants_.value(call_constant("return:", *p_.table, call), kDefaultReturnNs);
      if (p_.copies(sync)) {
        const GpuWork& copy = p_.gpu.work[sync.targets[0]];
        const int64_t per_ms = constants_.value(call_constant("return-per-ms:", *p_.table, call), 0);
        lag += (copy.end_ns - copy.start_ns) * per_ms / 1'000'000;
      }
      for (uint32_t target : sync.targets) {
        draft.depend(return_of_sync_[i], work_end_[target], EdgeKind::kSync, lag, false, sync.recorded, 95);
      }
    }
  }

  struct Room {
    uint32_t task;
    uint32_t work;
  };

  const RankPrograms& p_;
  const ConstantTable& constants_;
  std::vector<bool> blocked_;
  std::vector<Room> room_;
  std::vector<int64_t> source_end_;
  static constexpr int64_t kNoWait = -1;
  std::vector<int64_t> wait_of_segment_;  ///< how long a segment that waits takes after what it waits for
  std::vector<uint32_t> sync_of_call_, call_of_row_;
  std::vector<uint32_t> task_of_segment_, return_of_sync_, work_begin_, work_end_;
};

RankPrograms make_programs(const EventTable& table, const BuildOptions& options) {
  RankPrograms p;
  p.table = &table;
  p.tolerance_ns = clock_tolerance_ns(table);
  p.host = build_host_program(table);
  p.gpu = build_gpu_program(table, p.host);
  p.usual_call_ns = usual_durations(table, p.host);
  p.longest_plain_call_ns = longest_plain_call(table, p.host);
  p.late_launch = find_late_launches(table, p.host, p.gpu, p.usual_call_ns);
  p.stream_predecessor = find_stream_predecessors(p.gpu, p.tolerance_ns);
  if (options.inter_stream) {
    p.stream_waits = find_stream_waits(table, p.host, p.gpu, p.tolerance_ns, {options.use_sync_rows});
  }
  p.first_waves = find_first_waves(p).waits;
  const std::vector<FirstWave> full = find_full_gpu(p);
  p.first_waves.insert(p.first_waves.end(), full.begin(), full.end());
  for (const FirstWave& drain : find_drains(p)) {
    const bool known = std::any_of(full.begin(), full.end(), [&](const FirstWave& f) {
      return f.waiting == drain.waiting && f.running == drain.running;
    });
    if (!known) p.first_waves.push_back(drain);
  }
  p.launch_queue = find_launch_queue(table, p.host, p.gpu);
  if (options.inter_stream) p.issue_order = find_issue_order(p);
  p.sync_calls = find_sync_calls(table, p.host, p.gpu, p.tolerance_ns, options.use_sync_rows);
  p.host_transfers = find_host_transfers(table, p.host);
  p.hand_offs = find_hand_offs(table, p.host, p.host_transfers.is_transfer_thread);
  return p;
}

Step number_step(const StepRows& rows, const Assembly& assembly, const std::vector<uint32_t>& new_id) {
  Step step;
  step.name = rows.name;
  step.chosen = rows.chosen;
  step.left_out_reason = rows.left_out_reason;
  step.first_task = new_id[assembly.first_task(rows.first_segment)];
  if (!rows.followed) step.last_task = new_id[assembly.last_task(rows.last_segment)];
  for (uint32_t w : rows.last_works) step.last_gpu_tasks.push_back(new_id[assembly.end_of_work(w)]);
  return step;
}

// Without steps the whole trace is one: from its first event to the last end on any processor.
Step whole_trace(const ExecGraph& graph) {
  Step step;
  step.name = "trace";
  std::vector<uint32_t> last(graph.processors.size(), kNoIndex);
  step.first_task = kNoIndex;
  for (uint32_t t = 0; t < graph.size(); ++t) {
    if (graph.processor[t] == kNoProcessor || graph.event[t] == kNoIndex) continue;
    last[graph.processor[t]] = t;
    if (step.first_task == kNoIndex || graph.measured_start_ns[t] < graph.measured_start_ns[step.first_task]) {
      step.first_task = t;
    }
  }
  for (uint32_t t : last) {
    if (t != kNoIndex) step.last_gpu_tasks.push_back(t);
  }
  return step;
}

}  // namespace

ExecGraph build_graph(std::shared_ptr<const EventTable> table, const BuildOptions& options) {
  const RankPrograms programs = make_programs(*table, options);
  RankTasks rank;
  rank.rank = table->info.rank;
  rank.constants = options.constants ? *options.constants : calibrate(programs);
  const ConstantTable constants(rank.constants);
  Assembly assembly(programs, constants);
  assembly.run();
  FinishedGraph finished = finish_graph(assembly.draft);
  ExecGraph graph = std::move(finished.graph);
  for (const HostThread& thread : programs.host.threads) graph.processors.push_back({0, thread.lane, false});
  for (uint32_t lane : programs.gpu.stream_lane) graph.processors.push_back({0, lane, true});
  rank.end_task = graph.size();
  rank.dropped_edges = finished.dropped_edges;
  const std::vector<StepRows> steps = find_steps(programs);
  for (const StepRows& step : steps) rank.steps.push_back(number_step(step, assembly, finished.new_id));
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    if (steps[i].followed) rank.steps[i].next_task = rank.steps[i + 1].first_task;
  }
  if (rank.steps.empty() && graph.size() > 0) {
    Step step = whole_trace(graph);
    if (step.first_task != kNoIndex) rank.steps.push_back(std::move(step));
  }
  rank.table = std::move(table);
  graph.ranks.push_back(std::move(rank));
  return graph;
}

}  // namespace lumos

#include "lumos/program/synth/rank_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "lumos/base/result.h"

namespace lumos {
namespace {

constexpr int64_t kProcess = 1000;  // the main thread of a process has its number
constexpr int64_t kAutogradThread = 1001;

bool is_thread(Place place) { return place == Place::kMain || place == Place::kAutograd; }

TaskKind task_kind(EventKind kind) {
  switch (kind) {
    case EventKind::kMemcpy:
      return TaskKind::kMemcpy;
    case EventKind::kMemset:
      return TaskKind::kMemset;
    default:
      return TaskKind::kKernel;
  }
}

}  // namespace

const std::vector<LaneKey>& synthetic_lanes() {
  static const std::vector<LaneKey> lanes = {{false, 0}, {false, 1}, {true, 7},  {true, 20}, {true, 24},
                                             {true, 28}, {true, 32}, {true, 36}, {true, 40}, {true, 44},
                                             {true, 48}, {true, 52}, {true, 56}};
  return lanes;
}

RankRecorder::RankRecorder(int32_t rank) : names_(std::make_shared<NamePool>()) {
  program_.rank = rank;
  std::fill(std::begin(lane_of_), std::end(lane_of_), kNoIndex);
  std::fill(std::begin(last_task_), std::end(last_task_), kNoIndex);
  std::fill(std::begin(waits_for_), std::end(waits_for_), kNoIndex);
  std::fill(std::begin(annotation_), std::end(annotation_), kNoIndex);
}

void RankRecorder::begin_block(BlockRole role, const Label& label) {
  const auto tasks = static_cast<uint32_t>(program_.tasks.size());
  if (!program_.blocks.empty()) program_.blocks.back().task_end = tasks;
  Block block;
  block.role = role;
  block.label = label;
  block.task_begin = block.task_end = tasks;
  program_.blocks.push_back(block);
  std::copy(std::begin(count_), std::end(count_), std::begin(begin_count_));
}

uint32_t RankRecorder::open(Place thread, EventKind kind, std::string_view name, const OpDetail& detail) {
  const uint32_t row = add_row(kind, name, thread, clock(thread), 0);
  table_.external_id[row] = next_external_id_++;
  if (kind == EventKind::kCpuOp && detail != OpDetail{}) {
    table_.detail[row] = static_cast<uint32_t>(table_.ops.size());
    table_.ops.push_back(detail);
  }
  open_[static_cast<size_t>(thread)].push_back(row);
  return row;
}

void RankRecorder::close(Place thread) {
  std::vector<uint32_t>& open = open_[static_cast<size_t>(thread)];
  CHECK(!open.empty());
  table_.dur_ns[open.back()] = clock(thread) - table_.ts_ns[open.back()];
  open.pop_back();
}

void RankRecorder::work(Place thread, int64_t duration_ns) {
  if (duration_ns <= 0) return;
  const std::vector<uint32_t>& open = open_[static_cast<size_t>(thread)];
  add_task(TaskKind::kHost, thread, open.empty() ? kNoIndex : open.back(), duration_ns);
  add_thread_edges(thread);
  clock(thread) += duration_ns;
}

void RankRecorder::hand_over(Place from, Place to) {
  waits_for_[static_cast<size_t>(to)] = last_task(from);
  clock(to) = std::max(clock(to), clock(from) + kWakeNs);
}

uint32_t RankRecorder::launch(Place thread, Place stream, const GpuWorkItem& item, const LaunchCost& cost) {
  const int64_t issued_ns = clock(thread);
  const uint32_t call_row = call(thread, cost.call, cost.call_ns);
  const uint32_t call_task = last_task(thread);
  const int64_t start_ns = std::max(clock(stream) + kStreamGapNs, issued_ns + kLaunchLatencyNs);
  if (!item.annotation.empty()) {
    const uint32_t row = add_row(EventKind::kGpuAnnotation, item.annotation, stream, start_ns, item.duration_ns);
    const std::vector<uint32_t>& open = open_[static_cast<size_t>(thread)];
    if (!open.empty()) table_.external_id[row] = table_.external_id[open.back()];
  }
  const uint32_t row = add_row(item.kind, item.name, stream, start_ns, item.duration_ns);
  table_.correlation[row] = table_.correlation[call_row];
  table_.external_id[row] = table_.external_id[call_row];
  table_.detail[row] = static_cast<uint32_t>(table_.gpu.size());
  table_.gpu.push_back(item.detail);
  clock(stream) = start_ns + item.duration_ns;

  const uint32_t before = last_task(stream);
  const uint32_t task = item.communicates ? add_task(TaskKind::kArrive, stream, row, 0)
                                          : add_task(task_kind(item.kind), stream, row, item.duration_ns);
  if (before != kNoIndex) depend(before, EdgeKind::kStream, kStreamGapNs);
  depend(call_task, EdgeKind::kLaunch, kLaunchLatencyNs, true);
  std::vector<uint32_t>& pending = pending_[static_cast<size_t>(stream)];
  for (uint32_t source : pending) depend(source, EdgeKind::kInterStream, kStreamGapNs);
  pending.clear();
  if (item.communicates) {
    add_task(TaskKind::kTransfer, stream, row, item.duration_ns);
    depend(task, EdgeKind::kTransferOf);
  }
  return row;
}

uint32_t RankRecorder::record(Place thread, Place stream, int64_t call_ns) {
  call(thread, "cudaEventRecord", call_ns);
  // What the stream has been told to wait for is part of what it has to finish, though no work of it shows that yet.
  std::vector<uint32_t> tasks = pending_[static_cast<size_t>(stream)];
  if (last_task(stream) != kNoIndex) tasks.push_back(last_task(stream));
  recorded_.push_back(std::move(tasks));
  return static_cast<uint32_t>(recorded_.size() - 1);
}

void RankRecorder::wait(Place thread, Place stream, uint32_t recorded, int64_t call_ns) {
  call(thread, "cudaStreamWaitEvent", call_ns);
  std::vector<uint32_t>& pending = pending_[static_cast<size_t>(stream)];
  for (uint32_t task : recorded_[recorded]) {
    if (std::find(pending.begin(), pending.end(), task) == pending.end()) pending.push_back(task);
  }
}

void RankRecorder::synchronize_device(Place thread, int64_t call_ns) {
  const uint32_t row = call(thread, "cudaDeviceSynchronize", call_ns);
  std::vector<uint32_t> awaited;
  for (int place = 0; place < kNumPlaces; ++place)
    if (!is_thread(Place(place)) && last_task_[place] != kNoIndex) awaited.push_back(last_task_[place]);
  end_synchronize(thread, row, awaited);
}

void RankRecorder::synchronize_stream(Place thread, Place stream, int64_t call_ns) {
  const uint32_t row = call(thread, "cudaStreamSynchronize", call_ns);
  end_synchronize(thread, row, {last_task(stream)});
}

uint32_t RankRecorder::end_synchronize(Place thread, uint32_t row, const std::vector<uint32_t>& awaited) {
  const uint32_t task = add_task(TaskKind::kSyncReturn, thread, row, 0);
  add_thread_edges(thread);
  for (uint32_t source : awaited)
    if (source != kNoIndex) depend(source, EdgeKind::kSync, kSyncReturnNs);
  return task;
}

void RankRecorder::flow(Place thread, int64_t id, bool is_start) {
  const uint32_t row = open_[static_cast<size_t>(thread)].back();
  table_.fwdbwd.push_back({id, table_.ts_ns[row], table_.lane[row], is_start});
}

void RankRecorder::begin_gpu_annotation(Place stream, std::string_view name) {
  // Work that is enqueued from here on starts later than what is already there, and not before it is launched.
  const int64_t start_ns = std::max(clock(stream), clock(Place::kMain)) + kStreamGapNs;
  annotation_[static_cast<size_t>(stream)] = add_row(EventKind::kGpuAnnotation, name, stream, start_ns, 0);
}

void RankRecorder::end_gpu_annotation(Place stream) {
  uint32_t& row = annotation_[static_cast<size_t>(stream)];
  if (row != kNoIndex) table_.dur_ns[row] = std::max<int64_t>(0, clock(stream) - table_.ts_ns[row]);
  row = kNoIndex;
}

uint32_t RankRecorder::add_collective(const CollectiveDetail& detail) {
  table_.collectives.push_back(detail);
  return static_cast<uint32_t>(table_.collectives.size() - 1);
}

RankProgram RankRecorder::finish(TraceInfo info) {
  if (!program_.blocks.empty()) program_.blocks.back().task_end = static_cast<uint32_t>(program_.tasks.size());
  table_.info = std::move(info);
  table_.names = names_;
  program_.table = std::make_shared<const EventTable>(std::move(table_));
  return std::move(program_);
}

uint32_t RankRecorder::add_row(EventKind kind, std::string_view name, Place place, int64_t ts_ns, int64_t dur_ns) {
  table_.ts_ns.push_back(ts_ns);
  table_.dur_ns.push_back(dur_ns);
  table_.name.push_back(names_->intern(name));
  table_.lane.push_back(table_lane(place));
  table_.kind.push_back(kind);
  table_.correlation.push_back(-1);
  table_.external_id.push_back(0);
  table_.detail.push_back(kNoIndex);
  return static_cast<uint32_t>(table_.size() - 1);
}

uint32_t RankRecorder::call(Place thread, std::string_view name, int64_t duration_ns) {
  const uint32_t row = add_row(EventKind::kRuntime, name, thread, clock(thread), duration_ns);
  table_.correlation[row] = next_correlation_++;
  const std::vector<uint32_t>& open = open_[static_cast<size_t>(thread)];
  // Kernels belong to operators; an annotation around the call is none.
  const auto op =
      std::find_if(open.rbegin(), open.rend(), [&](uint32_t o) { return table_.kind[o] == EventKind::kCpuOp; });
  if (op != open.rend()) table_.external_id[row] = table_.external_id[*op];
  add_task(TaskKind::kCall, thread, row, duration_ns);
  add_thread_edges(thread);
  clock(thread) += duration_ns;
  return row;
}

uint32_t RankRecorder::add_task(TaskKind kind, Place place, uint32_t row, int64_t duration_ns) {
  CHECK(!program_.blocks.empty());
  BlockTask task;
  task.event = row;
  task.duration_ns = duration_ns;
  task.edge_begin = task.edge_end = static_cast<uint32_t>(program_.edges.size());
  task.lane = static_cast<uint16_t>(place);
  task.kind = kind;
  program_.tasks.push_back(task);
  position_.push_back(count_[task.lane]++);
  const auto id = static_cast<uint32_t>(program_.tasks.size() - 1);
  // A thread's edges are added by who still needs to know its last task.
  if (!is_thread(place)) last_task(place) = id;
  return id;
}

/// The last task added follows the thread's last one, and what handed over to it.
void RankRecorder::add_thread_edges(Place thread) {
  if (last_task(thread) != kNoIndex) depend(last_task(thread), EdgeKind::kThread);
  uint32_t& other = waits_for_[static_cast<size_t>(thread)];
  if (other != kNoIndex) depend(other, EdgeKind::kInterThread, kWakeNs);
  other = kNoIndex;
  last_task(thread) = static_cast<uint32_t>(program_.tasks.size() - 1);
}

/// The last task added depends on `source`.
void RankRecorder::depend(uint32_t source, EdgeKind kind, int64_t lag_ns, bool from_start) {
  BlockEdge edge;
  edge.kind = kind;
  edge.lag_ns = static_cast<int32_t>(lag_ns);
  edge.from_start = from_start;
  const uint32_t begin = program_.blocks.back().task_begin;
  if (source >= begin) {
    edge.local = static_cast<int32_t>(source - begin);
  } else {
    edge.lane = program_.tasks[source].lane;
    edge.back = begin_count_[edge.lane] - 1 - position_[source];
  }
  program_.edges.push_back(edge);
  program_.tasks.back().edge_end = static_cast<uint32_t>(program_.edges.size());
}

uint32_t RankRecorder::table_lane(Place place) {
  uint32_t& lane = lane_of_[static_cast<size_t>(place)];
  if (lane != kNoIndex) return lane;
  lane = static_cast<uint32_t>(table_.lanes.size());
  Lane made;
  made.is_gpu = !is_thread(place);
  made.pid = made.is_gpu ? 0 : kProcess;
  made.tid = place == Place::kMain       ? kProcess
             : place == Place::kAutograd ? kAutogradThread
                                         : synthetic_lanes()[static_cast<size_t>(place)].number;
  made.pid_text = names_->intern(fmt::format("{}", made.pid));
  made.tid_text = names_->intern(fmt::format("{}", made.tid));
  table_.lanes.push_back(made);
  return lane;
}

}  // namespace lumos

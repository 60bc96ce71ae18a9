#include "lumos/program/blocks/block_editor.h"

#include <algorithm>

#include "lumos/base/result.h"

namespace lumos {
namespace {

BlockEdge local_edge(size_t source, EdgeKind kind) {
  BlockEdge edge;
  edge.local = static_cast<int32_t>(source);
  edge.kind = kind;
  edge.recorded = false;
  return edge;
}

BlockEdge outer_edge(uint32_t lane, EdgeKind kind) {
  BlockEdge edge;
  edge.lane = lane;
  edge.kind = kind;
  edge.recorded = false;
  return edge;
}

BlockEdge launch_edge(size_t call, int32_t latency_ns) {
  BlockEdge edge = local_edge(call, EdgeKind::kLaunch);
  edge.lag_ns = latency_ns;
  edge.from_start = true;
  return edge;
}

BlockTask made_task(TaskKind kind, uint32_t lane, uint32_t event, int64_t duration_ns) {
  BlockTask task;
  task.kind = kind;
  task.lane = lane;
  task.event = event;
  task.duration_ns = duration_ns;
  return task;
}

}  // namespace

BlockEditor::BlockEditor(const Program& program, const RankProgram& rank, const Block& block)
    : program_(program), rank_(rank), block_(block) {
  for (uint32_t t = block.task_begin; t < block.task_end; ++t) {
    const BlockTask& task = rank.tasks[t];
    items_.push_back({task, {rank.edges.begin() + task.edge_begin, rank.edges.begin() + task.edge_end}});
  }
}

bool BlockEditor::owns(uint32_t row, uint32_t launch) const {
  const EventTable& table = *rank_.table;
  const Launch& launched = rank_.recovered.list.launches[launch];
  if (row >= table.size() || table.lane[row] != launched.lane) return false;
  if (table.ts_ns[row] > launched.ts_ns || table.end_ns(row) < launched.ts_ns) return false;
  // Launches are sorted by time: those of the same thread inside the row's time are near.
  const auto& all = rank_.recovered.list.launches;
  auto inside = [&](size_t other) { return all[other].lane == launched.lane && all[other].ts_ns <= table.end_ns(row); };
  for (size_t i = launch; i-- > 0 && all[i].ts_ns >= table.ts_ns[row];)
    if (inside(i)) return false;
  for (size_t i = launch + 1; i < all.size() && all[i].ts_ns <= table.end_ns(row); ++i)
    if (inside(i)) return false;
  return true;
}

void BlockEditor::remove(uint32_t launch) {
  const std::vector<uint32_t>& launch_of_row = rank_.recovered.list.launch_of_row;
  size_t first = items_.size(), last = 0;
  uint32_t thread = kNoLane;
  for (size_t i = 0; i < items_.size(); ++i) {
    BlockTask& task = items_[i].task;
    if (task.event == kNoIndex || task.event >= launch_of_row.size()) continue;
    const bool of_launch = launch_of_row[task.event] == launch;
    if (task.kind >= TaskKind::kKernel) {
      if (!of_launch) continue;
      task.kind = TaskKind::kGap;
      task.duration_ns = 0;
      task.event = kNoIndex;
    } else if (of_launch || owns(task.event, launch)) {
      first = std::min(first, i);
      last = i;
      thread = task.lane;
    }
  }
  for (size_t i = first; i <= last && i < items_.size(); ++i) {
    BlockTask& task = items_[i].task;
    if (task.lane != thread) continue;
    task.duration_ns = 0;
    task.event = kNoIndex;
  }
  changed_ = true;
}

void BlockEditor::stretch(uint32_t launch, double factor) {
  for (Item& item : items_) {
    BlockTask& task = item.task;
    if (!is_gpu_task(task.kind) || task.event != rank_.recovered.list.launches[launch].gpu_row) continue;
    task.duration_ns = static_cast<int64_t>(static_cast<double>(task.duration_ns) * factor);
    changed_ = true;
  }
}

size_t BlockEditor::call_item(uint32_t launch) const {
  const uint32_t call = rank_.recovered.list.launches[launch].call;
  for (size_t i = 0; i < items_.size(); ++i)
    if (items_[i].task.event == call && call != kNoIndex && items_[i].task.kind < TaskKind::kKernel) return i;
  return items_.size();
}

size_t BlockEditor::first_gpu_item(uint32_t launch) const {
  for (size_t i = 0; i < items_.size(); ++i) {
    const BlockTask& task = items_[i].task;
    if (is_gpu_task(task.kind) && task.event == rank_.recovered.list.launches[launch].gpu_row) return i;
  }
  return items_.size();
}

size_t BlockEditor::last_item(uint32_t launch, bool gpu) const {
  if (!gpu) return call_item(launch);
  size_t last = items_.size();
  for (size_t i = 0; i < items_.size(); ++i) {
    const BlockTask& task = items_[i].task;
    if (is_gpu_task(task.kind) && task.event == rank_.recovered.list.launches[launch].gpu_row) last = i;
  }
  return last;
}

void BlockEditor::put(size_t at, Item item) {
  for (Item& other : items_)
    for (BlockEdge& edge : other.edges)
      if (edge.local >= static_cast<int32_t>(at)) ++edge.local;
  items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(at), std::move(item));
  changed_ = true;
}

BlockEdge BlockEditor::after_last_on(uint32_t lane, size_t before, EdgeKind kind) const {
  for (size_t i = before; i-- > 0;)
    if (items_[i].task.lane == lane) return local_edge(i, kind);
  return outer_edge(lane, kind);
}

void BlockEditor::follow_on_lane(uint32_t lane, size_t item, EdgeKind kind) {
  for (size_t i = item + 1; i < items_.size(); ++i) {
    if (items_[i].task.lane != lane) continue;
    items_[i].edges.push_back(local_edge(item, kind));
    return;
  }
}

/// The CPU time of an added launch, next to the call of `launch`.
size_t BlockEditor::put_host(uint32_t launch, bool after, uint32_t call, LaunchStyle style) {
  size_t at = call_item(launch);
  if (at == items_.size()) return at;
  const uint32_t thread = items_[at].task.lane;
  if (after) ++at;
  Item item{made_task(TaskKind::kCall, thread, call, style.host_ns), {}};
  item.edges.push_back(after_last_on(thread, at, EdgeKind::kThread));
  put(at, std::move(item));
  follow_on_lane(thread, at, EdgeKind::kThread);
  return at;
}

void BlockEditor::insert(const AddedCollective& what, BlockPoint at, uint32_t consumer, bool prefetched) {
  size_t beside = at.after ? last_item(at.launch, true) : first_gpu_item(at.launch);
  if (beside == items_.size()) return;
  const uint32_t compute = items_[beside].task.lane;
  const size_t call = put_host(at.launch, at.after, what.call, what.style);
  if (call == items_.size()) return;
  beside = at.after ? last_item(at.launch, true) + 1 : first_gpu_item(at.launch);
  beside = std::max(beside, call + 1);
  const BlockEdge before = after_last_on(what.lane, beside, EdgeKind::kInterStream);

  Item arrive{made_task(TaskKind::kArrive, what.lane, what.row, 0), {}};
  arrive.edges.push_back(launch_edge(call, what.style.latency_ns));
  arrive.edges.push_back(after_last_on(what.lane, beside, EdgeKind::kStream));
  if (compute != what.lane) arrive.edges.push_back(after_last_on(compute, beside, EdgeKind::kInterStream));
  put(beside, std::move(arrive));
  Item transfer{made_task(TaskKind::kTransfer, what.lane, what.row, 0), {local_edge(beside, EdgeKind::kTransferOf)}};
  put(beside + 1, std::move(transfer));
  follow_on_lane(what.lane, beside + 1, EdgeKind::kStream);

  if (consumer == kNoIndex) return;
  const size_t waiting = first_gpu_item(consumer);
  if (waiting == items_.size() || waiting <= beside + 1) return;
  items_[waiting].edges.push_back(prefetched ? before : local_edge(beside + 1, EdgeKind::kInterStream));
}

void BlockEditor::insert_copies(const Block& from, const std::vector<uint32_t>& launches, uint32_t launch,
                                LaunchStyle style) {
  const std::vector<uint32_t>& launch_of_row = rank_.recovered.list.launch_of_row;
  for (uint32_t t = from.task_begin; t < from.task_end; ++t) {
    const BlockTask& task = rank_.tasks[t];
    if (!is_gpu_task(task.kind) || task.event == kNoIndex || task.event >= launch_of_row.size()) continue;
    if (std::find(launches.begin(), launches.end(), launch_of_row[task.event]) == launches.end()) continue;
    const uint32_t copied = launch_of_row[task.event];
    const size_t call = put_host(launch, false, rank_.recovered.list.launches[copied].call, style);
    if (call == items_.size()) return;
    const size_t at = first_gpu_item(launch);
    if (at == items_.size() || at <= call) return;
    Item copy{made_task(task.kind, task.lane, task.event, task.duration_ns), {launch_edge(call, style.latency_ns)}};
    copy.edges.push_back(after_last_on(task.lane, at, EdgeKind::kStream));
    put(at, std::move(copy));
    follow_on_lane(task.lane, at, EdgeKind::kStream);
  }
}

void BlockEditor::wait_for(uint16_t lane, uint32_t launch) {
  const size_t waiting = first_gpu_item(launch);
  if (waiting == items_.size()) return;
  items_[waiting].edges.push_back(outer_edge(lane, EdgeKind::kInterStream));
  changed_ = true;
}

uint32_t BlockEditor::next_compute(uint32_t launch) const {
  for (uint32_t i = launch + 1; i < block_.launch_end; ++i)
    if (!rank_.recovered.list.launches[i].is_communication) return i;
  return kNoIndex;
}

void BlockEditor::append_to(std::vector<BlockTask>& tasks, std::vector<BlockEdge>& edges) const {
  for (const Item& item : items_) {
    BlockTask task = item.task;
    task.edge_begin = static_cast<uint32_t>(edges.size());
    edges.insert(edges.end(), item.edges.begin(), item.edges.end());
    task.edge_end = static_cast<uint32_t>(edges.size());
    tasks.push_back(task);
  }
}

void append_collective(const AddedCollective& what, uint32_t thread, uint32_t compute, bool host_waits,
                       std::vector<BlockTask>& tasks, std::vector<BlockEdge>& edges) {
  auto add = [&](BlockTask task, const std::vector<BlockEdge>& waits) {
    task.edge_begin = static_cast<uint32_t>(edges.size());
    edges.insert(edges.end(), waits.begin(), waits.end());
    task.edge_end = static_cast<uint32_t>(edges.size());
    tasks.push_back(task);
  };
  add(made_task(TaskKind::kCall, thread, what.call, what.style.host_ns), {outer_edge(thread, EdgeKind::kThread)});
  add(made_task(TaskKind::kArrive, what.lane, what.row, 0),
      {launch_edge(0, what.style.latency_ns), outer_edge(what.lane, EdgeKind::kStream),
       outer_edge(compute, EdgeKind::kInterStream)});
  add(made_task(TaskKind::kTransfer, what.lane, what.row, 0), {local_edge(1, EdgeKind::kTransferOf)});
  if (host_waits)
    add(made_task(TaskKind::kSyncReturn, thread, kNoIndex, 0),
        {local_edge(0, EdgeKind::kThread), local_edge(2, EdgeKind::kSync)});
}

}  // namespace lumos

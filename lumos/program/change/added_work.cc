#include "lumos/program/change/added_work.h"

#include <algorithm>

#include "lumos/base/result.h"

namespace lumos {
namespace {

std::string_view kernel_name(CommKind kind) {
  switch (kind) {
    case CommKind::kAllReduce:
      return "ncclDevKernel_AllReduce_Sum";
    case CommKind::kAllGather:
      return "ncclDevKernel_AllGather";
    case CommKind::kReduceScatter:
      return "ncclDevKernel_ReduceScatter_Sum";
    case CommKind::kBroadcast:
      return "ncclDevKernel_Broadcast";
    case CommKind::kPointToPoint:
      break;
  }
  return "ncclDevKernel_SendRecv";
}

int64_t median(std::vector<int64_t>& values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

AddedWork::AddedWork(Program& program, RankProgram& rank, RankTransfers& transfers)
    : program_(program), rank_(rank), transfers_(transfers), table_(*rank.table), names_(std::make_shared<NamePool>()) {
  for (uint32_t id = 0; id < table_.names->size(); ++id) names_->intern(table_.names->text(NameId{id}));
  for (int64_t correlation : table_.correlation) next_correlation_ = std::max(next_correlation_, correlation + 1);
  find_lanes();
  find_styles();
}

void AddedWork::find_lanes() {
  std::vector<uint32_t> kernels(program_.lanes.size(), 0);
  for (const BlockTask& task : rank_.tasks)
    if (task.kind == TaskKind::kKernel && task.lane != kNoLane) ++kernels[task.lane];
  compute_stream_ = static_cast<uint16_t>(std::max_element(kernels.begin(), kernels.end()) - kernels.begin());
  for (uint16_t lane = 0; lane < program_.lanes.size(); ++lane)
    if (!program_.lanes[lane].is_gpu && program_.lanes[lane].number == 0) main_thread_ = lane;
}

/// Host time per launch: what passes on a thread of a pass, over its launches. Communication goes through more layers
/// of software: its launches are told apart where the trace has any.
void AddedWork::find_styles() {
  std::vector<int64_t> kernels, collectives, latencies;
  const auto& launches = rank_.recovered.list.launches;
  for (size_t i = 1; i < launches.size(); ++i) {
    if (launches[i].call == kNoIndex || launches[i - 1].lane != launches[i].lane) continue;
    if (rank_.recovered.labels[i].phase != Phase::kForward) continue;
    (launches[i].is_communication ? collectives : kernels).push_back(launches[i].ts_ns - launches[i - 1].ts_ns);
  }
  for (const BlockTask& task : rank_.tasks)
    for (uint32_t e = task.edge_begin; e < task.edge_end && is_gpu_task(task.kind); ++e)
      if (rank_.edges[e].kind == EdgeKind::kLaunch && rank_.edges[e].from_start)
        latencies.push_back(rank_.edges[e].lag_ns);
  kernel_style_.host_ns = median(kernels);
  kernel_style_.latency_ns = static_cast<int32_t>(median(latencies));
  collective_style_ = kernel_style_;
  if (!collectives.empty()) collective_style_.host_ns = median(collectives);
}

uint16_t AddedWork::usual_lane(CommScope scope) const {
  std::map<uint16_t, uint32_t> uses;
  for (const BlockTask& task : rank_.tasks) {
    if (task.kind != TaskKind::kTransfer || task.event == kNoIndex || task.event >= transfers_.of_row.size()) continue;
    const uint32_t index = transfers_.of_row[task.event];
    if (index != kNoIndex && transfers_.transfers[index].scope == scope) ++uses[task.lane];
  }
  uint16_t best = kNoLane;
  for (auto& [lane, count] : uses)
    if (best == kNoLane || count > uses[best]) best = lane;
  return best;
}

/// NCCL gives each group a stream of its own.
uint16_t AddedWork::lane_of(CommScope scope) {
  auto found = lanes_.find(scope);
  if (found != lanes_.end()) return found->second;
  uint16_t lane = usual_lane(scope);
  if (lane == kNoLane) {
    constexpr int32_t kFirstAddedStream = 1000;
    const LaneKey key{true, kFirstAddedStream + static_cast<int32_t>(scope)};
    auto known = std::find(program_.lanes.begin(), program_.lanes.end(), key);
    lane = static_cast<uint16_t>(known - program_.lanes.begin());
    if (known == program_.lanes.end()) program_.lanes.push_back(key);
    Lane made;
    for (const Lane& like : table_.lanes)
      if (like.is_gpu) made = like;
    made.is_gpu = true;
    made.tid = key.number;
    made.tid_text = names_->intern(std::to_string(key.number));
    made.label = kNoName;
    table_.lanes.push_back(made);
  }
  lanes_[scope] = lane;
  return lane;
}

void AddedWork::push_row(std::string_view name, uint32_t lane, EventKind kind, int64_t correlation) {
  table_.ts_ns.push_back(0);
  table_.dur_ns.push_back(0);
  table_.name.push_back(names_->intern(name));
  table_.lane.push_back(lane);
  table_.kind.push_back(kind);
  table_.correlation.push_back(correlation);
  table_.external_id.push_back(0);
  table_.detail.push_back(kNoIndex);
  rank_.recovered.list.launch_of_row.push_back(kNoIndex);
  transfers_.of_row.push_back(kNoIndex);
}

uint32_t AddedWork::add_rows(const CommWork& work, uint16_t lane) {
  uint32_t stream = 0, thread = 0;
  for (uint32_t l = 0; l < table_.lanes.size(); ++l) {
    if (table_.lanes[l].is_gpu && table_.lanes[l].tid == program_.lanes[lane].number) stream = l;
    if (!table_.lanes[l].is_gpu) thread = l;
  }
  const int64_t correlation = next_correlation_++;
  push_row("cudaLaunchKernelExC", thread, EventKind::kRuntime, correlation);
  push_row(kernel_name(work.kind), stream, EventKind::kKernel, correlation);
  const auto row = static_cast<uint32_t>(table_.size()) - 1;
  Transfer transfer;
  transfer.row = row;
  transfer.scope = work.scope;
  transfer.kind = work.kind;
  transfer.bytes = work.bytes;
  transfer.added = true;
  transfers_.of_row[row] = static_cast<uint32_t>(transfers_.transfers.size());
  transfers_.transfers.push_back(transfer);
  return row;
}

AddedCollective AddedWork::collective(const CommWork& work) {
  AddedCollective out;
  out.lane = lane_of(work.scope);
  out.style = collective_style_;
  auto [found, fresh] = rows_.try_emplace({work.scope, work.kind, work.bytes}, kNoIndex);
  if (fresh) found->second = add_rows(work, out.lane);
  out.row = found->second;
  out.call = found->second - 1;
  return out;
}

void AddedWork::change_kind(uint32_t row, CommKind kind, double ratio) {
  Transfer& transfer = transfers_.transfers[transfers_.of_row[row]];
  transfer.kind = kind;
  transfer.transfer_ns = static_cast<int64_t>(static_cast<double>(transfer.transfer_ns) * ratio);
  table_.name[row] = names_->intern(kernel_name(kind));
}

void AddedWork::finish() {
  table_.names = names_;
  rank_.table = std::make_shared<const EventTable>(std::move(table_));
}

}  // namespace lumos

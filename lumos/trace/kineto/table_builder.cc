#include "lumos/trace/kineto/table_builder.h"

#include <algorithm>

#include "lumos/trace/kineto/decimal.h"

namespace lumos {

namespace {

constexpr size_t kMinRows = 4096;
constexpr double kReserveSlack = 1.1;  // The rest of a file is seldom more than this denser than what was read.
constexpr size_t kMaxGrowth = 64;      // Against a wild extrapolation from the first few bytes.

/// Text that cannot occur in a pid, to make one key of two texts.
std::string joined(char kind, std::string_view a, std::string_view b) {
  std::string key;
  key.reserve(a.size() + b.size() + 2);
  key += kind;
  key += a;
  key += '\n';
  key += b;
  return key;
}

/// Room for `more` entries and for those that the rest of the file will bring at the same density.
template <class T>
void reserve_for(std::vector<T>& column, size_t more, double progress) {
  size_t wanted = column.size() + more;
  if (wanted <= column.capacity()) return;
  auto whole = static_cast<size_t>(static_cast<double>(wanted) / std::max(progress, 1e-6) * kReserveSlack);
  size_t at_least = std::max(kMinRows, wanted + wanted / 4);
  column.reserve(std::clamp(whole, at_least, std::max(at_least, wanted * kMaxGrowth)));
}

}  // namespace

TableBuilder::TableBuilder() : names_(std::make_shared<NamePool>()) {}

void TableBuilder::append(const ParsedBlock& block, double progress) {
  reserve_for_file(block, progress);
  map_names(block);
  map_lanes(block);
  append_details(block);
  append_rows(block);
  for (FlowEnd flow : block.fwdbwd) {
    flow.lane = lanes_of_block_[flow.lane];
    table_.fwdbwd.push_back(flow);
  }
  for (FlowLink flow : block.launches) {
    for (NameId FlowLink::*text : {&FlowLink::category, &FlowLink::pid_text, &FlowLink::tid_text}) {
      flow.*text = mapped(flow.*text);
    }
    launches_.push_back(flow);
  }
  for (const ParsedLabel& label : block.labels) {
    if (label.kind == ParsedLabel::Kind::kOverlapOf) {
      overlap_of_[joined('t', label.pid, label.tid)] = block.names[label.label];
      continue;
    }
    const bool is_process = label.kind == ParsedLabel::Kind::kProcess;
    std::string key = is_process ? joined('p', label.pid, "") : joined('t', label.pid, label.tid);
    labels_[std::move(key)] = names_of_block_[label.label];
  }
  TraceInfo& info = table_.info;
  info.events += block.events;
  info.left_out_python += block.left_out_python;
  info.left_out_flows += block.left_out_flows;
  info.left_out_other += block.left_out_other;
  damage_.add(block.damage);
}

void TableBuilder::reserve_for_file(const ParsedBlock& block, double progress) {
  size_t rows = block.rows.size();
  reserve_for(table_.ts_ns, rows, progress);
  reserve_for(table_.dur_ns, rows, progress);
  reserve_for(table_.name, rows, progress);
  reserve_for(table_.lane, rows, progress);
  reserve_for(table_.kind, rows, progress);
  reserve_for(table_.correlation, rows, progress);
  reserve_for(table_.external_id, rows, progress);
  reserve_for(table_.detail, rows, progress);
  reserve_for(table_.gpu, block.gpu.size(), progress);
  reserve_for(table_.ops, block.ops.size(), progress);
  reserve_for(table_.syncs, block.syncs.size(), progress);
  reserve_for(table_.collectives, block.collectives.size(), progress);
  reserve_for(table_.fwdbwd, block.fwdbwd.size(), progress);
}

void TableBuilder::map_names(const ParsedBlock& block) {
  names_of_block_.clear();
  for (std::string_view text : block.names) names_of_block_.push_back(names_->intern(text));
}

void TableBuilder::map_lanes(const ParsedBlock& block) {
  lanes_of_block_.clear();
  for (const ParsedLane& parsed : block.lanes) {
    auto fresh = static_cast<uint32_t>(table_.lanes.size());
    auto [it, is_new] = lanes_.try_emplace(joined(parsed.is_gpu ? 'g' : 'c', parsed.pid, parsed.tid), fresh);
    lanes_of_block_.push_back(it->second);
    if (!is_new) continue;
    Lane lane;
    lane.is_gpu = parsed.is_gpu;
    lane.pid = parse_int(parsed.pid).value_or(-1);
    lane.tid = parse_int(parsed.tid).value_or(-1);
    table_.lanes.push_back(lane);
    lane_texts_.emplace_back(parsed.pid, parsed.tid);
  }
}

void TableBuilder::append_details(const ParsedBlock& block) {
  auto first_collective = static_cast<uint32_t>(table_.collectives.size());
  auto shifted = [&](uint32_t collective) { return collective == kNoIndex ? kNoIndex : collective + first_collective; };
  for (CollectiveDetail detail : block.collectives) {
    for (NameId CollectiveDetail::*name :
         {&CollectiveDetail::collective, &CollectiveDetail::dtype, &CollectiveDetail::group_name,
          &CollectiveDetail::group_desc, &CollectiveDetail::group_ranks, &CollectiveDetail::in_split,
          &CollectiveDetail::out_split}) {
      detail.*name = mapped(detail.*name);
    }
    table_.collectives.push_back(detail);
  }
  // Details that no later block can repeat (with a collective, a graph node or a sequence number of their own) stay out
  // of the index, which would cost more memory than it saves.
  gpu_of_block_.clear();
  for (GpuDetail detail : block.gpu) {
    bool is_own = detail.collective != kNoIndex || detail.graph_node >= 0;
    detail.collective = shifted(detail.collective);
    if (is_own) table_.gpu.push_back(detail);
    gpu_of_block_.push_back(is_own ? static_cast<uint32_t>(table_.gpu.size() - 1)
                                   : enter_distinct(gpu_index_, table_.gpu, detail, hash_of(detail)));
  }
  ops_of_block_.clear();
  for (OpDetail detail : block.ops) {
    bool is_own = detail.collective != kNoIndex || detail.sequence >= 0;
    detail.collective = shifted(detail.collective);
    detail.input_dims = mapped(detail.input_dims);
    detail.input_types = mapped(detail.input_types);
    detail.concrete_inputs = mapped(detail.concrete_inputs);
    if (is_own) table_.ops.push_back(detail);
    ops_of_block_.push_back(is_own ? static_cast<uint32_t>(table_.ops.size() - 1)
                                   : enter_distinct(op_index_, table_.ops, detail, hash_of(detail)));
  }
}

void TableBuilder::append_rows(const ParsedBlock& block) {
  auto first_sync = static_cast<uint32_t>(table_.syncs.size());
  table_.syncs.insert(table_.syncs.end(), block.syncs.begin(), block.syncs.end());
  for (const ParsedRow& row : block.rows) {
    if (row.phase == 'E') {
      if (!close_half(row)) ++table_.info.left_out_other;
      continue;
    }
    uint32_t detail = row.detail;
    if (detail != kNoIndex) {
      if (is_gpu_work(row.kind)) detail = gpu_of_block_[detail];
      if (row.kind == EventKind::kCpuOp || row.kind == EventKind::kAnnotation) detail = ops_of_block_[detail];
      if (row.kind == EventKind::kSync) detail += first_sync;
    }
    uint32_t lane = lanes_of_block_[row.lane];
    NameId name = names_of_block_[row.name];
    if (row.phase == 'B') open_halves_[lane].push_back({static_cast<uint32_t>(table_.size()), name});
    table_.ts_ns.push_back(row.ts_ns);
    table_.dur_ns.push_back(row.dur_ns);
    table_.name.push_back(name);
    table_.lane.push_back(lane);
    table_.kind.push_back(row.kind);
    table_.correlation.push_back(row.correlation);
    table_.external_id.push_back(row.external_id);
    table_.detail.push_back(detail);
  }
}

/// Ends the event that an earlier row of phase B began on this lane: the last open one of the name, or the last one.
bool TableBuilder::close_half(const ParsedRow& row) {
  std::vector<OpenHalf>& open = open_halves_[lanes_of_block_[row.lane]];
  NameId name = names_of_block_[row.name];
  auto same = std::find_if(open.rbegin(), open.rend(), [&](const OpenHalf& half) { return half.name == name; });
  if (same == open.rend()) {
    if (open.empty() || name != kNoName) return false;
    same = open.rbegin();
  }
  table_.dur_ns[same->row] = std::max<int64_t>(0, row.ts_ns - table_.ts_ns[same->row]);
  open.erase(std::next(same).base());
  return true;
}

/// Rows of tracks that were only drawn apart return to the lane that they come from, under its number; such a track is
/// then no lane any more.
void TableBuilder::put_overlaps_back() {
  if (overlap_of_.empty()) return;
  std::vector<uint32_t> new_lane(table_.lanes.size(), kNoIndex);
  std::vector<Lane> lanes;
  std::vector<std::pair<std::string, std::string>> texts;
  std::unordered_map<std::string, uint32_t> lane_of;  // by kind, pid and the tid that counts
  for (size_t i = 0; i < table_.lanes.size(); ++i) {
    auto [pid, tid] = lane_texts_[i];
    const auto own = overlap_of_.find(joined('t', pid, tid));
    if (own != overlap_of_.end()) tid = own->second;
    Lane lane = table_.lanes[i];
    lane.tid = parse_int(tid).value_or(-1);
    const auto [it, is_new] =
        lane_of.try_emplace(joined(lane.is_gpu ? 'g' : 'c', pid, tid), static_cast<uint32_t>(lanes.size()));
    new_lane[i] = it->second;
    if (!is_new) continue;
    lanes.push_back(lane);
    texts.emplace_back(std::move(pid), std::move(tid));
  }
  table_.lanes = std::move(lanes);
  lane_texts_ = std::move(texts);
  for (uint32_t& lane : table_.lane) lane = new_lane[lane];
  for (FlowEnd& flow : table_.fwdbwd) flow.lane = new_lane[flow.lane];
}

/// Only now, so that the order of names does not depend on where blocks began.
void TableBuilder::label_lanes() {
  for (size_t i = 0; i < table_.lanes.size(); ++i) {
    Lane& lane = table_.lanes[i];
    lane.pid_text = names_->intern(lane_texts_[i].first);
    lane.tid_text = names_->intern(lane_texts_[i].second);
    auto thread = labels_.find(joined('t', table_.text(lane.pid_text), table_.text(lane.tid_text)));
    // In 2021 the tid of a stream was the text "stream 7".
    if (thread == labels_.end() && lane.is_gpu) {
      thread = labels_.find(joined('t', table_.text(lane.pid_text), fmt::format("stream {}", lane.tid)));
    }
    if (thread != labels_.end()) lane.label = thread->second;
    auto process = labels_.find(joined('p', table_.text(lane.pid_text), ""));
    if (process != labels_.end()) lane.process = process->second;
  }
}

EventTable TableBuilder::finish(const DamageCounts& damage) {
  damage_.add(damage);
  for (const auto& [lane, open] : open_halves_) {
    if (!open.empty()) damage_.add(Damage::kMissingDuration, 0, open.size());
  }
  table_.info.issues = damage_.issues();
  table_.names = names_;
  put_overlaps_back();
  label_lanes();
  const uint64_t flow_ends = launches_.size();
  table_.info.left_out_flows += flow_ends - std::min(flow_ends, 2 * link_by_flows(std::move(launches_), table_));
  return std::move(table_);
}

}  // namespace lumos

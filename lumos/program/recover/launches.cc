#include "lumos/program/recover/launches.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include "lumos/program/recover/launch_collective.h"
#include "lumos/trace/table/row_meaning.h"

namespace lumos {
namespace {

/// Rows of one thread, outer before inner.
std::vector<uint32_t> nested_order(const EventTable& table, std::vector<uint32_t> order) {
  auto depth_kind = [&](uint32_t row) { return table.kind[row] == EventKind::kRuntime ? 1 : 0; };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (table.ts_ns[a] != table.ts_ns[b]) return table.ts_ns[a] < table.ts_ns[b];
    if (table.dur_ns[a] != table.dur_ns[b]) return table.dur_ns[a] > table.dur_ns[b];
    return depth_kind(a) < depth_kind(b);
  });
  return order;
}

/// The open rows of a thread, as context of the launches inside them.
class ContextStack {
 public:
  explicit ContextStack(const EventTable& table) : table_(table) {}

  void enter(uint32_t row) {
    while (!open_.empty() && table_.end_ns(open_.back()) <= table_.ts_ns[row]) open_.pop_back();
    open_.push_back(row);
    if (const CollectiveHint hint = collective_hint(row); hint.kind != CollectiveKind::kUnknown) asked_ = hint;
  }

  /// What was asked for has been launched.
  void communicated() { asked_ = {}; }

  void describe(Launch& launch, CollectiveContext& collective) const {
    collective.asked = asked_;
    size_t checkpoint_at = SIZE_MAX;
    bool engine_after = false, runs_again = false, in_node = false;
    for (size_t i = 0; i < open_.size(); ++i) {
      const uint32_t row = open_[i];
      const OperatorMeaning meaning = operator_of(table_, row);
      launch.in_backward |= meaning.in_backward();
      launch.in_optimizer |= meaning.is(OperatorTrait::kOptimizer);
      launch.is_zeroing |= meaning.is(OperatorTrait::kZeroing);
      collective.in_all_to_all |= meaning.is(OperatorTrait::kAllToAll);
      if (meaning.unit != UnitWork::kNone) launch.unit_work = meaning.unit;
      if (const CollectiveHint hint = collective_hint(row); hint.tells()) collective.around = hint;
      // The engine calls the checkpoint's backward too: only what it calls inside counts.
      const bool engine = meaning.is(OperatorTrait::kEngine);
      if (meaning.is(OperatorTrait::kCheckpoint) && !engine) checkpoint_at = i;
      engine_after |= engine && checkpoint_at != SIZE_MAX;
      if (table_.kind[row] != EventKind::kCpuOp) continue;
      if (launch.outer_op == kNoIndex) launch.outer_op = row;
      launch.inner_op = row;
      // What the engine calls is a node, whatever it is called.
      const bool is_node = i > 0 && operator_of(table_, open_[i - 1]).is(OperatorTrait::kEngine);
      const OpDetail* op = table_.op_detail(row);
      const bool inside = std::exchange(in_node, in_node || is_node);
      if (op == nullptr || op->sequence < 0) continue;
      // Autograd numbers what runs inside of its own nodes only where a checkpoint runs a forward again there.
      const bool again = inside && !meaning.in_backward() && checkpoint_at == SIZE_MAX;
      runs_again |= again;
      if (!again) launch.sequence_op = row;
    }
    launch.in_recompute = runs_again;
    if (checkpoint_at == SIZE_MAX) return;
    launch.checkpoint_op = open_[checkpoint_at];
    launch.in_recompute = !engine_after;
  }

 private:
  /// By the row's name; record_param_comms carries the collective's in its arguments.
  CollectiveHint collective_hint(uint32_t row) const {
    const OpDetail* op = table_.kind[row] == EventKind::kCpuOp ? table_.op_detail(row) : nullptr;
    if (op != nullptr && op->collective != kNoIndex) return hint_of(table_, table_.collectives[op->collective]);
    return operator_of(table_, row).hint;
  }

  const EventTable& table_;
  std::vector<uint32_t> open_;
  CollectiveHint asked_;
};

/// The autograd engine's threads run nothing else: hooks and callbacks that it calls outside of its nodes, too.
void mark_engine_threads(const EventTable& table, std::vector<Launch>& launches) {
  std::vector<bool> has_engine(table.lanes.size(), false);
  for (uint32_t row = 0; row < table.size(); ++row)
    if (table.kind[row] == EventKind::kCpuOp && operator_of(table, row).is(OperatorTrait::kEngine))
      has_engine[table.lane[row]] = true;
  std::vector<uint32_t> outside(table.lanes.size() + 1, 0);
  for (const Launch& launch : launches)
    if (launch.lane != kNoIndex && !launch.in_backward) ++outside[launch.lane];
  const auto main = std::max_element(outside.begin(), outside.end()) - outside.begin();
  for (Launch& launch : launches) {
    // The thread that runs forwards may run the engine, too.
    if (launch.lane == kNoIndex || !has_engine[launch.lane] || launch.lane == main) continue;
    launch.in_backward = true;
    launch.is_zeroing = false;
  }
}

/// What a checkpoint runs again it runs in one go: launches without a number in between belong to it.
void join_recomputed(std::vector<Launch>& launches) {
  std::unordered_map<uint32_t, std::pair<size_t, size_t>> extent;  // by node
  for (size_t i = 0; i < launches.size(); ++i) {
    if (!launches[i].in_recompute || launches[i].checkpoint_op != kNoIndex) continue;
    extent.try_emplace(launches[i].sequence_op, i, i).first->second.second = i;
  }
  for (const auto& [node, range] : extent)
    for (size_t i = range.first; i < range.second; ++i)
      launches[i].in_recompute |= launches[i].sequence_op == node && launches[i].checkpoint_op == kNoIndex;
}

/// GPU rows by correlation, in file order; rows without one stand alone.
class GpuRows {
 public:
  explicit GpuRows(const EventTable& table) : table_(table) {
    for (uint32_t row = 0; row < table.size(); ++row) {
      if (is_gpu_work(table.kind[row])) (table.correlation[row] > 0 ? rows_ : alone_).push_back(row);
    }
    std::sort(rows_.begin(), rows_.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(table.correlation[a], a) < std::pair(table.correlation[b], b);
    });
  }

  std::span<const uint32_t> of(int64_t correlation) const {
    const auto begin = std::partition_point(rows_.begin(), rows_.end(),
                                            [&](uint32_t row) { return table_.correlation[row] < correlation; });
    auto end = begin;
    while (end != rows_.end() && table_.correlation[*end] == correlation) ++end;
    return {begin, end};
  }
  const std::vector<uint32_t>& alone() const { return alone_; }

 private:
  const EventTable& table_;
  std::vector<uint32_t> rows_, alone_;
};

void describe_work(const EventTable& table, CollectiveContext context, Launch& launch) {
  const KernelMeaning meaning = table.kernel_meaning(launch.gpu_row);
  launch.is_communication = is_communication(table, launch.gpu_row);
  launch.in_optimizer |= table.kind[launch.gpu_row] == EventKind::kKernel && meaning.is(KernelTrait::kOptimizer);
  launch.is_zeroing = (launch.is_zeroing || table.kind[launch.gpu_row] == EventKind::kMemset) && !launch.in_backward &&
                      !launch.is_communication;
  if (!launch.is_communication) return;
  context.by_kernel = meaning.collective;
  if (const CollectiveDetail* detail = table.collective_detail(launch.gpu_row)) {
    context.has_metadata = detail->collective != kNoName;
    context.metadata = hint_of(table, *detail);
  }
  const CollectiveHint collective = collective_of(context);
  launch.collective = collective.kind;
  launch.sends = collective.sends;
  launch.receives = collective.receives;
}

}  // namespace

LaunchList list_launches(const EventTable& table) {
  LaunchList list;
  list.launch_of_row.assign(table.size(), kNoIndex);
  const GpuRows gpu(table);
  std::vector<std::vector<uint32_t>> by_lane(table.lanes.size());
  for (uint32_t row = 0; row < table.size(); ++row) {
    const EventKind kind = table.kind[row];
    if (kind == EventKind::kCpuOp || kind == EventKind::kAnnotation || kind == EventKind::kRuntime)
      by_lane[table.lane[row]].push_back(row);
  }
  std::vector<std::pair<uint32_t, Launch>> found;  // with the row that owns it
  for (uint32_t lane = 0; lane < by_lane.size(); ++lane) {
    ContextStack stack(table);
    for (uint32_t row : nested_order(table, by_lane[lane])) {
      stack.enter(row);
      const OpDetail* op = table.op_detail(row);
      if (table.kind[row] == EventKind::kCpuOp && op && op->sequence >= 0)
        list.numbered.push_back({op->sequence, row, lane, table.operator_meaning(row).in_backward()});
      if (table.kind[row] != EventKind::kRuntime) continue;
      const std::span<const uint32_t> owned = gpu.of(table.correlation[row]);
      if (owned.empty()) continue;
      Launch launch;
      launch.ts_ns = table.ts_ns[row];
      launch.call = row;
      launch.gpu_row = owned.front();
      launch.lane = lane;
      CollectiveContext context;
      stack.describe(launch, context);
      describe_work(table, context, launch);
      if (launch.is_communication) stack.communicated();
      found.emplace_back(row, launch);
    }
  }
  std::vector<bool> claimed(table.size(), false);
  for (auto& [row, launch] : found)
    for (uint32_t owned : gpu.of(table.correlation[row])) claimed[owned] = true;
  auto orphan = [&](uint32_t row) {
    Launch launch;
    launch.ts_ns = table.ts_ns[row];
    launch.gpu_row = row;
    describe_work(table, {}, launch);
    found.emplace_back(row, launch);
  };
  for (uint32_t row : gpu.alone()) orphan(row);
  for (uint32_t row = 0; row < table.size(); ++row)
    if (is_gpu_work(table.kind[row]) && table.correlation[row] > 0 && !claimed[row]) orphan(row);

  std::stable_sort(found.begin(), found.end(), [](auto& a, auto& b) {
    return std::pair(a.second.ts_ns, a.second.gpu_row) < std::pair(b.second.ts_ns, b.second.gpu_row);
  });
  std::stable_sort(list.numbered.begin(), list.numbered.end(),
                   [&](auto& a, auto& b) { return table.ts_ns[a.row] < table.ts_ns[b.row]; });
  for (auto& [row, launch] : found) {
    const auto index = static_cast<uint32_t>(list.launches.size());
    if (launch.call != kNoIndex) {
      list.launch_of_row[launch.call] = index;
      for (uint32_t gpu_row : gpu.of(table.correlation[row])) list.launch_of_row[gpu_row] = index;
    } else {
      list.launch_of_row[launch.gpu_row] = index;
    }
    list.launches.push_back(launch);
  }
  mark_engine_threads(table, list.launches);
  join_recomputed(list.launches);
  mark_unit_work(table, list.launches);
  return list;
}

}  // namespace lumos

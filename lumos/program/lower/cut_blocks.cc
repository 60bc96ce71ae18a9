// Cuts the graph of a rank into blocks of the program.
#include <algorithm>
#include <map>
#include <optional>

#include "lumos/base/result.h"
#include "lumos/program/blocks/program.h"
#include "lumos/program/lower/lower.h"

namespace lumos {
namespace {

/// The parts of a pass: a layer, or what is outside of layers; in exchanges and the optimizer every launch is one.
struct Part {
  uint32_t pass = 0;
  uint32_t launch_begin = 0;
  uint32_t launch_end = 0;
  Label label;
};

std::vector<Part> list_parts(const RecoveredRank& rank) {
  std::vector<Part> parts;
  for (uint32_t p = 0; p < rank.passes.size(); ++p) {
    const Pass& pass = rank.passes[p];
    for (uint32_t i = pass.begin; i < pass.end; ++i) {
      Label label = rank.labels[i];
      if (rank.list.launches[i].gathers_ahead && i > pass.begin) {
        parts.back().launch_end = i + 1;  // part of the work beside which the host asks for it
        continue;
      }
      // What is recomputed belongs to the backward of its layer, whether it comes before all of it or in its middle.
      const bool starts = i == pass.begin || pass.phase == Phase::kOptimizer || pass.phase == Phase::kGradSync ||
                          pass.phase == Phase::kP2p || label.layer != parts.back().label.layer;
      const bool same_backward = !parts.empty() && parts.back().label.microbatch == label.microbatch &&
                                 parts.back().label.chunk == label.chunk && parts.back().label.layer == label.layer &&
                                 ((parts.back().label.phase == Phase::kRecompute && label.phase == Phase::kBackward) ||
                                  (parts.back().label.phase == Phase::kBackward && label.layer >= 0 &&
                                   (label.phase == Phase::kRecompute || label.phase == Phase::kBackward)));
      if (starts && !same_backward) parts.push_back({p, i, i, label});
      parts.back().launch_end = i + 1;
      if (same_backward) parts.back().label.phase = Phase::kBackward;
    }
  }
  return parts;
}

/// Ends of the calls in which the host waits for the GPU, in order.
std::vector<int64_t> synchronise_ends(const EventTable& table) {
  std::vector<int64_t> ends;
  for (uint32_t row = 0; row < table.size(); ++row)
    if (table.kind[row] == EventKind::kRuntime && is_synchronise(table.call_kind(row)))
      ends.push_back(table.end_ns(row));
  std::sort(ends.begin(), ends.end());
  return ends;
}

/// Host time at which each part begins on every thread: where the outermost operator of its first launch starts, but
/// not before the launch of the part before. What the host does after a synchronise call belongs to what follows.
std::vector<int64_t> part_starts(const EventTable& table, const RecoveredRank& rank, const std::vector<Part>& parts) {
  const std::vector<int64_t> synchronised = synchronise_ends(table);
  std::vector<int64_t> starts;
  int64_t previous_launch = INT64_MIN;
  for (const Part& part : parts) {
    const Launch& launch = rank.list.launches[part.launch_begin];
    int64_t start = launch.ts_ns;
    if (launch.outer_op != kNoIndex) start = std::min(start, table.ts_ns[launch.outer_op]);
    start = std::max(start, previous_launch);
    auto after = std::upper_bound(synchronised.begin(), synchronised.end(), start);
    if (after != synchronised.begin() && *(after - 1) > previous_launch)
      start = *(after - 1) + 1;  // the return itself is part of the call
    starts.push_back(start);
    const Launch& last = rank.list.launches[part.launch_end - 1];
    previous_launch = last.call == kNoIndex ? last.ts_ns : table.end_ns(last.call);
  }
  return starts;
}

/// Threads by what they launch: 0 is the one with most forward launches, 1 the one with most backward launches.
std::map<uint32_t, int32_t> number_threads(const EventTable& table, const RecoveredRank& rank) {
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> counts;  // lane -> (main, backward)
  for (const Launch& launch : rank.list.launches) {
    if (launch.lane == kNoIndex) continue;
    (launch.in_backward ? counts[launch.lane].second : counts[launch.lane].first)++;
  }
  std::map<uint32_t, int32_t> numbers;
  uint32_t main_lane = kNoIndex, backward_lane = kNoIndex;
  for (auto& [lane, count] : counts)
    if (main_lane == kNoIndex || count.first > counts[main_lane].first) main_lane = lane;
  for (auto& [lane, count] : counts)
    if (lane != main_lane && (backward_lane == kNoIndex || count.second > counts[backward_lane].second))
      backward_lane = lane;
  int32_t next = 2;
  for (uint32_t lane = 0; lane < table.lanes.size(); ++lane) {
    if (table.lanes[lane].is_gpu) continue;
    if (lane == main_lane)
      numbers[lane] = 0;
    else if (lane == backward_lane)
      numbers[lane] = 1;
    else
      numbers[lane] = next++;
  }
  return numbers;
}

BlockRole role_of(const Part& part, bool before_layers) {
  switch (part.label.phase) {
    case Phase::kInit:
      return BlockRole::kInit;
    case Phase::kForward:
      if (part.label.layer >= 0) return BlockRole::kForwardLayer;
      return before_layers ? BlockRole::kForwardEntry : BlockRole::kForwardExit;
    case Phase::kBackward:
    case Phase::kRecompute:
      if (part.label.layer >= 0) return BlockRole::kBackwardLayer;
      return before_layers ? BlockRole::kBackwardEntry : BlockRole::kBackwardExit;
    case Phase::kP2p:
      return BlockRole::kExchange;
    case Phase::kGradSync:
      return BlockRole::kGradSync;
    case Phase::kOptimizer:
      return BlockRole::kOptimizer;
    case Phase::kLog:
      return BlockRole::kLog;
    case Phase::kUnknown:
      break;
  }
  return BlockRole::kUnplaced;
}

uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdull;
}

uint64_t text_hash(std::string_view text) {
  uint64_t hash = 1469598103934665603ull;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

/// Index into Program::lanes of each lane there.
using LaneNumbers = std::map<LaneKey, uint32_t>;

class Cutter {
 public:
  Cutter(const ExecGraph& graph, Program& program, LaneNumbers& lane_of_key, RankProgram& out)
      : graph_(graph),
        program_(program),
        lane_of_key_(lane_of_key),
        out_(out),
        table_(*out.table),
        rank_(out.recovered) {
    name_hash_.resize(table_.names->size());
  }

  void run() {
    parts_ = list_parts(rank_);
    starts_ = part_starts(table_, rank_, parts_);
    map_lanes();
    place_tasks();
    emit_blocks();
  }

 private:
  uint32_t lane_index(LaneKey key) {
    const auto [it, fresh] = lane_of_key_.try_emplace(key, static_cast<uint32_t>(program_.lanes.size()));
    if (fresh) program_.lanes.push_back(key);
    return it->second;
  }

  void map_lanes() {
    const std::map<uint32_t, int32_t> threads = number_threads(table_, rank_);
    lane_of_processor_.assign(graph_.processors.size(), kNoLane);
    for (size_t p = 0; p < graph_.processors.size(); ++p) {
      const uint32_t lane = graph_.processors[p].lane;
      LaneKey key;
      key.is_gpu = graph_.processors[p].is_gpu;
      key.number = key.is_gpu ? static_cast<int32_t>(table_.lanes[lane].tid) : threads.at(lane);
      lane_of_processor_[p] = lane_index(key);
    }
  }

  /// Part of each task: host tasks by time, GPU tasks with their launch, all not before what they depend on.
  void place_tasks() {
    const uint32_t size = graph_.size();
    std::vector<uint32_t> part_of_launch(rank_.list.launches.size(), 0);
    for (uint32_t p = 0; p < parts_.size(); ++p)
      for (uint32_t i = parts_[p].launch_begin; i < parts_[p].launch_end; ++i) part_of_launch[i] = p;
    part_of_task_.assign(size, 0);
    for (uint32_t task = 0; task < size; ++task) {
      uint32_t part = 0;
      const uint32_t event = graph_.event[task];
      const bool gpu = is_gpu_task(graph_.kind[task]) || graph_.kind[task] == TaskKind::kGap;
      if (gpu && event != kNoIndex && rank_.list.launch_of_row[event] != kNoIndex)
        part = part_of_launch[rank_.list.launch_of_row[event]];
      else if (!gpu)
        part = wakes(task) ? next_part_of_thread(task) : part_at(graph_.measured_start_ns[task]);
      for (uint32_t e = graph_.edge_begin[task]; e < graph_.edge_begin[task + 1]; ++e)
        part = std::max(part, part_of_task_[graph_.edges[e].source]);
      part_of_task_[task] = part;
    }
  }

  /// Time of the autograd thread outside of all events, once another thread has woken it: it finds its work. Where no
  /// hand-over is seen, such time may as well be spent waiting.
  bool wakes(uint32_t task) const {
    const uint32_t lane = lane_of(task);
    if (graph_.event[task] != kNoIndex || lane == kNoLane || program_.lanes[lane] != LaneKey{false, 1}) return false;
    const auto begin = graph_.edges.begin() + graph_.edge_begin[task],
               end = graph_.edges.begin() + graph_.edge_begin[task + 1];
    return std::any_of(begin, end, [](const Edge& edge) { return edge.kind == EdgeKind::kInterThread; });
  }

  /// The part of what the thread of `task` launches next: whatever came before it where it was traced, a pass is begun
  /// when the thread that asks for it gets there.
  uint32_t next_part_of_thread(uint32_t task) {
    const uint32_t lane = graph_.processors[graph_.processor[task]].lane;
    for (uint32_t p = part_at(graph_.measured_start_ns[task]); p < parts_.size(); ++p)
      for (uint32_t i = parts_[p].launch_begin; i < parts_[p].launch_end; ++i)
        if (rank_.list.launches[i].lane == lane && rank_.list.launches[i].ts_ns >= graph_.measured_start_ns[task])
          return p;
    return part_at(graph_.measured_start_ns[task]);
  }

  uint32_t part_at(int64_t time) const {
    auto after = std::upper_bound(starts_.begin(), starts_.end(), time);
    return after == starts_.begin() ? 0 : static_cast<uint32_t>(after - starts_.begin() - 1);
  }

  void emit_blocks() {
    const uint32_t size = graph_.size();
    std::vector<uint32_t> order(size);
    for (uint32_t i = 0; i < size; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return part_of_task_[a] < part_of_task_[b]; });

    std::vector<uint32_t> new_id(size);
    for (uint32_t i = 0; i < size; ++i) new_id[order[i]] = i;
    // Position of each task on its lane, and how many the lane has before each part.
    std::vector<uint32_t> position(size, 0), count(program_.lanes.size(), 0);
    for (uint32_t task : order)
      if (const uint32_t lane = lane_of(task); lane != kNoLane) position[task] = count[lane]++;

    std::vector<uint32_t> lane_begin(program_.lanes.size(), 0);
    size_t next = 0;
    for (uint32_t p = 0; p < parts_.size(); ++p) {
      Block block = make_block(p);
      block.task_begin = static_cast<uint32_t>(next);
      for (; next < size && part_of_task_[order[next]] == p; ++next)
        emit_task(order[next], block, lane_begin, new_id, position);
      block.task_end = static_cast<uint32_t>(next);
      for (uint32_t i = block.task_begin; i < block.task_end; ++i)
        if (const uint32_t lane = lane_of(order[i]); lane != kNoLane) lane_begin[lane] = position[order[i]] + 1;
      out_.blocks.push_back(block);
    }
  }

  /// Equal on all ranks, whose numbers for names differ.
  uint64_t name_hash(NameId name) {
    std::optional<uint64_t>& hash = name_hash_[static_cast<uint32_t>(name)];
    if (!hash) hash = text_hash(table_.text(name));
    return *hash;
  }

  Block make_block(uint32_t index) {
    const Part& part = parts_[index];
    bool before_layers = true;
    for (uint32_t p = index; p-- > 0 && parts_[p].pass == part.pass;) before_layers &= parts_[p].label.layer < 0;
    Block block;
    block.role = role_of(part, before_layers);
    block.label = part.label;
    block.pass = part.pass;
    block.launch_begin = part.launch_begin;
    block.launch_end = part.launch_end;
    block.shape = static_cast<uint64_t>(block.role);
    for (uint32_t i = part.launch_begin; i < part.launch_end; ++i) {
      const uint32_t row = rank_.list.launches[i].gpu_row;
      block.shape = mix(block.shape, name_hash(table_.name[row]));
      block.shape = mix(block.shape, static_cast<uint64_t>(table_.lanes[table_.lane[row]].tid));
    }
    return block;
  }

  uint32_t lane_of(uint32_t task) const {
    return graph_.processor[task] == kNoProcessor ? kNoLane : lane_of_processor_[graph_.processor[task]];
  }

  void emit_task(uint32_t task, const Block& block, const std::vector<uint32_t>& lane_begin,
                 const std::vector<uint32_t>& new_id, const std::vector<uint32_t>& position) {
    BlockTask made;
    made.event = graph_.event[task];
    made.duration_ns = graph_.duration_ns[task];
    made.lane = lane_of(task);
    made.kind = graph_.kind[task];
    made.edge_begin = static_cast<uint32_t>(out_.edges.size());
    for (uint32_t e = graph_.edge_begin[task]; e < graph_.edge_begin[task + 1]; ++e) {
      const Edge& edge = graph_.edges[e];
      BlockEdge to;
      to.lag_ns = edge.lag_ns;
      to.kind = edge.kind;
      to.from_start = edge.from_start;
      to.recorded = edge.recorded;
      to.confidence_pct = edge.confidence_pct;
      if (new_id[edge.source] >= block.task_begin) {
        to.local = static_cast<int32_t>(new_id[edge.source] - block.task_begin);
      } else {
        to.lane = lane_of(edge.source);
        if (to.lane == kNoLane) continue;
        to.back = lane_begin[to.lane] - 1 - position[edge.source];
      }
      out_.edges.push_back(to);
    }
    made.edge_end = static_cast<uint32_t>(out_.edges.size());
    out_.tasks.push_back(made);
  }

  const ExecGraph& graph_;
  Program& program_;
  LaneNumbers& lane_of_key_;
  RankProgram& out_;
  const EventTable& table_;
  const RecoveredRank& rank_;
  std::vector<std::optional<uint64_t>> name_hash_;  // of the names of GPU rows
  std::vector<Part> parts_;
  std::vector<int64_t> starts_;
  std::vector<uint32_t> lane_of_processor_;
  std::vector<uint32_t> part_of_task_;
};

}  // namespace

Program make_program(const std::vector<ExecGraph>& graphs, std::vector<RecoveredRank> recovered) {
  Program program;
  LaneNumbers lane_of_key;
  CHECK(graphs.size() == recovered.size());
  for (size_t i = 0; i < graphs.size(); ++i) {
    RankProgram rank;
    rank.rank = graphs[i].ranks[0].rank;
    rank.table = graphs[i].ranks[0].table;
    rank.recovered = std::move(recovered[i]);
    Cutter(graphs[i], program, lane_of_key, rank).run();
    program.ranks.push_back(std::move(rank));
  }
  program.threads_hand_over = hand_over_holds(program);
  return program;
}

}  // namespace lumos

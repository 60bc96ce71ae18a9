#include "lumos/program/lower/lower.h"

#include <algorithm>
#include <span>

#include "lumos/base/result.h"
#include "lumos/program/measure/host_lags.h"
#include "lumos/sim/simulate.h"

namespace lumos {
namespace {

constexpr std::span<const MeetingOf> kNoMeetings;

/// Hand-overs that a trace shows change next to nothing when they are imposed: identity within half a percent.
constexpr double kMostLonger = 5e-3;

bool is_backward_block(BlockRole role) {
  return role == BlockRole::kBackwardEntry || role == BlockRole::kBackwardLayer || role == BlockRole::kBackwardExit;
}

/// Emits the tasks of one planned rank; keeps what was last put on each lane, which is what outer edges refer to.
class RankEmitter {
 public:
  RankEmitter(const Program& program, const LowerPlan& plan, const TaskDurations& durations, ExecGraph& graph,
              std::vector<std::vector<uint32_t>>& arrivals, std::vector<TaskOrigin>* origins)
      : program_(program), plan_(plan), durations_(durations), graph_(graph), arrivals_(arrivals), origins_(origins) {
    for (uint16_t lane = 0; lane < program.lanes.size(); ++lane) {
      if (program.lanes[lane] == LaneKey{false, 0}) main_lane_ = lane;
      if (program.lanes[lane] == LaneKey{false, 1}) autograd_lane_ = lane;
    }
  }

  void run(uint32_t index, const PlannedRank& rank) {
    rank_index_ = index;
    lane_tasks_.assign(program_.lanes.size(), {});
    processor_.assign(program_.lanes.size(), kNoProcessor);
    received_.assign(plan_.meeting_ns.size(), kNoIndex);
    lags_ = {};
    RankTasks tasks;
    tasks.rank = rank.rank;
    tasks.first_task = graph_.size();
    if (!rank.blocks.empty()) table_ = program_.ranks[rank.blocks.front().rank].table;
    tasks.table = table_;
    for (block_ = 0; block_ < rank.blocks.size(); ++block_) emit(rank.blocks[block_]);
    tasks.end_task = graph_.size();
    if (tasks.end_task > tasks.first_task) tasks.steps.push_back(step_of(tasks));
    graph_.ranks.push_back(std::move(tasks));
  }

 private:
  void emit(const PlacedBlock& placed) {
    const RankProgram& source = program_.ranks[placed.rank];
    const Block& block = source.blocks[placed.block];
    const uint32_t base = graph_.size();
    block_begin_.resize(program_.lanes.size());
    for (size_t lane = 0; lane < lane_tasks_.size(); ++lane)
      block_begin_[lane] = static_cast<uint32_t>(lane_tasks_[lane].size());
    bool needs_data = placed.needs_begin < placed.needs_end;
    bool joins = placed.joins_streams;
    const uint16_t follower = is_backward_block(block.role) ? autograd_lane_ : main_lane_;
    bool follows = plan_.threads_hand_over && block.role != BlockRole::kUnplaced && follower != kNoLane;
    for (uint32_t t = block.task_begin; t < block.task_end; ++t) {
      const BlockTask& task = source.tasks[t];
      const bool communicates = task.kind == TaskKind::kArrive || task.kind == TaskKind::kTransfer;
      const std::span<const MeetingOf> meetings = communicates ? meetings_for(placed, task.event) : kNoMeetings;
      int64_t duration = durations_[placed.rank][t];
      if (task.kind == TaskKind::kTransfer && !meetings.empty()) duration = transfer_ns(meetings);
      if (placed.gpu_scale != 1 && is_gpu_task(task.kind) && !communicates)
        duration = static_cast<int64_t>(static_cast<double>(duration) * placed.gpu_scale);
      if (placed.comm_scale != 1 && task.kind == TaskKind::kTransfer && meetings.empty())
        duration = static_cast<int64_t>(static_cast<double>(duration) * placed.comm_scale);
      add_task(placed.rank, t, duration);
      lags_.pass(task.kind, duration);
      for (uint32_t e = task.edge_begin; e < task.edge_end; ++e) add_edge(source.edges[e], base);
      for (const MeetingOf& each : meetings) attend(each.meeting, task.kind);
      follow_peers(source, block, task, base);
      if (plan_.behind_ns != nullptr && (*plan_.behind_ns)[placed.rank][t] > 0)
        follow_last_ready(source, block, task, (*plan_.behind_ns)[placed.rank][t], base);
      if (follows && task.lane == follower) {
        follow_other_thread(follower == main_lane_ ? autograd_lane_ : main_lane_);
        follows = false;
      }
      if (needs_data && is_gpu_task(task.kind) && !communicates) {
        add_needs(placed);
        needs_data = false;
      }
      if (joins && is_gpu_task(task.kind)) {
        join_streams(task.lane);
        joins = false;
      }
      graph_.edge_begin.push_back(static_cast<uint32_t>(graph_.edges.size()));
    }
  }

  /// A folded collective starts when the last member's host has launched it: as long after this rank's own launch as
  /// the hosts are apart by then.
  void follow_peers(const RankProgram& source, const Block& block, const BlockTask& task, uint32_t base) {
    if (task.peer_lag == kNoIndex) return;
    const PeerLag& step = source.peer_lags[task.peer_lag];
    lags_.follow(step);
    double behind_ns = plan_.tensor_lag_growth > 0 ? lags_.behind_ns(PeerGroup::kTensor, plan_.tensor_lag_growth) : 0;
    if (step.group == PeerGroup::kData && plan_.data_lag_growth > 0)
      behind_ns += lags_.behind_ns(PeerGroup::kData, plan_.data_lag_growth);
    const BlockEdge* launch = launch_of_transfer(source, block, task);
    if (behind_ns <= 0 || launch == nullptr) return;
    behind_ns += plan_.gpu_tail_scale * static_cast<double>(step.gpu_tail_ns);
    BlockEdge last_launch = *launch;
    last_launch.lag_ns = static_cast<int32_t>(std::min(last_launch.lag_ns + behind_ns, double{INT32_MAX}));
    add_edge(last_launch, base);
  }

  /// The last member has the tensors of a collective ready so much later than this rank, whether or not the stream is
  /// free for it.
  void follow_last_ready(const RankProgram& source, const Block& block, const BlockTask& task, int64_t behind_ns,
                         uint32_t base) {
    const BlockTask* arrival = arrival_of_transfer(source, block, task);
    for (uint32_t e = arrival == nullptr ? 0 : arrival->edge_begin; arrival != nullptr && e < arrival->edge_end; ++e) {
      BlockEdge ready = source.edges[e];
      if (ready.kind != EdgeKind::kInterStream && ready.kind != EdgeKind::kLaunch) continue;
      ready.lag_ns = static_cast<int32_t>(std::min<int64_t>(ready.lag_ns + behind_ns, INT32_MAX));
      add_edge(ready, base);
    }
  }

  /// The main thread asks the autograd thread for a backward and goes on when that is done, whatever came before this
  /// block where it was traced. `thread` is the one that hands over.
  void follow_other_thread(uint16_t thread) {
    if (thread == kNoLane || block_begin_[thread] == 0) return;
    Edge edge;
    edge.source = lane_tasks_[thread][block_begin_[thread] - 1];
    edge.kind = EdgeKind::kInterThread;
    edge.recorded = false;
    graph_.edges.push_back(edge);
  }

  /// A pass reads what its stage received, whatever stream waits the trace shows for it.
  void add_needs(const PlacedBlock& placed) {
    for (uint32_t i = placed.needs_begin; i < placed.needs_end; ++i) {
      const uint32_t transfer = received_[plan_.needs[i]];
      if (transfer == kNoIndex) continue;
      Edge edge;
      edge.source = transfer;
      edge.kind = EdgeKind::kInterStream;
      edge.recorded = false;
      graph_.edges.push_back(edge);
    }
  }

  void join_streams(uint16_t own_lane) {
    for (size_t lane = 0; lane < lane_tasks_.size(); ++lane) {
      if (!program_.lanes[lane].is_gpu || lane == own_lane || block_begin_[lane] == 0) continue;
      Edge edge;
      edge.source = lane_tasks_[lane][block_begin_[lane] - 1];
      edge.kind = EdgeKind::kInterStream;
      edge.recorded = false;
      graph_.edges.push_back(edge);
    }
  }

  std::span<const MeetingOf> meetings_for(const PlacedBlock& placed, uint32_t row) const {
    uint32_t begin = placed.meeting_begin;
    while (begin < placed.meeting_end && plan_.meeting_of[begin].row != row) ++begin;
    uint32_t end = begin;
    while (end < placed.meeting_end && plan_.meeting_of[end].row == row) ++end;
    return std::span(plan_.meeting_of).subspan(begin, end - begin);
  }

  int64_t transfer_ns(std::span<const MeetingOf> meetings) const {
    int64_t sent_ns = 0, received_ns = 0;
    for (const MeetingOf& each : meetings) {
      if (each.meeting == kDropped) continue;
      if (each.sends) sent_ns += plan_.meeting_ns[each.meeting];
      if (each.receives) received_ns += plan_.meeting_ns[each.meeting];
    }
    return std::max(sent_ns, received_ns);
  }

  /// Links the task just added, the arrival or the transfer of a kernel, to a meeting of the kernel.
  void attend(uint32_t meeting, TaskKind kind) {
    if (meeting >= kDropped) return;
    if (kind == TaskKind::kArrive) arrivals_[meeting].push_back(graph_.size() - 1);
    if (kind != TaskKind::kTransfer) return;
    Edge edge;
    edge.source = meeting;  // replaced by the rendezvous task once all ranks are emitted
    edge.kind = EdgeKind::kRendezvous;
    graph_.edges.push_back(edge);
    received_[meeting] = graph_.size() - 1;
  }

  void add_task(uint32_t source_rank, uint32_t index, int64_t duration) {
    const BlockTask& task = program_.ranks[source_rank].tasks[index];
    const uint32_t id = graph_.size();
    if (origins_) origins_->push_back({source_rank, task.event, index, block_, task.lane});
    // Rows refer to one table per rank; what was borrowed from another rank has no row in it.
    graph_.event.push_back(program_.ranks[source_rank].table == table_ ? task.event : kNoIndex);
    graph_.kind.push_back(task.kind);
    graph_.duration_ns.push_back(duration);
    graph_.measured_start_ns.push_back(0);
    uint32_t processor = kNoProcessor;
    if (task.lane != kNoLane) {
      processor = processor_of(task.lane, source_rank);
      lane_tasks_[task.lane].push_back(id);
    }
    graph_.processor.push_back(processor);
  }

  uint32_t processor_of(uint16_t lane, uint32_t source_rank) {
    if (processor_[lane] == kNoProcessor) {
      processor_[lane] = static_cast<uint32_t>(graph_.processors.size());
      Processor made;
      made.rank_index = rank_index_;
      made.is_gpu = program_.lanes[lane].is_gpu;
      const EventTable& table = *program_.ranks[source_rank].table;
      for (uint32_t l = 0; l < table.lanes.size(); ++l)
        if (table.lanes[l].is_gpu == made.is_gpu && table.lanes[l].tid == program_.lanes[lane].number) made.lane = l;
      graph_.processors.push_back(made);
    }
    return processor_[lane];
  }

  void add_edge(const BlockEdge& from, uint32_t base) {
    Edge edge;
    edge.lag_ns = from.lag_ns;
    edge.kind = from.kind;
    edge.from_start = from.from_start;
    edge.recorded = from.recorded;
    edge.confidence_pct = from.confidence_pct;
    if (from.local >= 0) {
      edge.source = base + static_cast<uint32_t>(from.local);
    } else {
      // What the block depended on outside of itself is now whatever precedes it on that lane.
      const uint32_t begin = block_begin_[from.lane];
      if (from.back >= begin) return;
      edge.source = lane_tasks_[from.lane][begin - 1 - from.back];
    }
    graph_.edges.push_back(edge);
  }

  Step step_of(const RankTasks& tasks) const {
    Step step;
    step.name = "step";
    step.first_task = tasks.first_task;
    for (size_t lane = 0; lane < lane_tasks_.size(); ++lane) {
      if (lane_tasks_[lane].empty()) continue;
      if (program_.lanes[lane].is_gpu)
        step.last_gpu_tasks.push_back(lane_tasks_[lane].back());
      else if (program_.lanes[lane].number == 0)
        step.last_task = lane_tasks_[lane].back();
    }
    return step;
  }

  const Program& program_;
  const LowerPlan& plan_;
  const TaskDurations& durations_;
  ExecGraph& graph_;
  std::vector<std::vector<uint32_t>>& arrivals_;
  std::vector<TaskOrigin>* origins_;
  uint16_t main_lane_ = kNoLane;
  uint16_t autograd_lane_ = kNoLane;
  uint32_t rank_index_ = 0;
  uint32_t block_ = 0;  ///< of the planned rank
  HostLags lags_;       ///< of the members that are folded into this rank
  std::shared_ptr<const EventTable> table_;
  std::vector<std::vector<uint32_t>> lane_tasks_;  ///< emitted tasks per lane, in order
  std::vector<uint32_t> block_begin_;              ///< how many each lane had when the current block began
  std::vector<uint32_t> processor_;
  std::vector<uint32_t> received_;  ///< this rank's transfer task of each meeting
};

/// One task without a processor per meeting, after the tasks of all ranks.
void add_rendezvous(const std::vector<std::vector<uint32_t>>& arrivals, ExecGraph& graph) {
  const uint32_t first = graph.size();
  for (Edge& edge : graph.edges)
    if (edge.kind == EdgeKind::kRendezvous) edge.source += first;
  for (const std::vector<uint32_t>& members : arrivals) {
    graph.event.push_back(kNoIndex);
    graph.kind.push_back(TaskKind::kRendezvous);
    graph.processor.push_back(kNoProcessor);
    graph.duration_ns.push_back(0);
    graph.measured_start_ns.push_back(0);
    for (uint32_t arrival : members) {
      Edge edge;
      edge.source = arrival;
      edge.kind = EdgeKind::kRendezvous;
      graph.edges.push_back(edge);
    }
    graph.edge_begin.push_back(static_cast<uint32_t>(graph.edges.size()));
  }
}

/// A topological order of the whole graph (Kahn); shorter than the graph if it has cycles.
void order_tasks(ExecGraph& graph) {
  const uint32_t size = graph.size();
  std::vector<uint32_t> open(size), out_begin(size + 1, 0), out(graph.edges.size());
  for (uint32_t task = 0; task < size; ++task) open[task] = graph.edge_begin[task + 1] - graph.edge_begin[task];
  for (const Edge& edge : graph.edges) ++out_begin[edge.source + 1];
  for (uint32_t task = 0; task < size; ++task) out_begin[task + 1] += out_begin[task];
  std::vector<uint32_t> next = out_begin;
  for (uint32_t task = 0; task < size; ++task)
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e)
      out[next[graph.edges[e].source]++] = task;

  // Depth first along each rank keeps what runs together close together in memory.
  std::vector<uint32_t> stack;
  for (uint32_t task = size; task-- > 0;)
    if (open[task] == 0) stack.push_back(task);
  graph.order.reserve(size);
  while (!stack.empty()) {
    const uint32_t task = stack.back();
    stack.pop_back();
    graph.order.push_back(task);
    for (uint32_t o = out_begin[task + 1]; o-- > out_begin[task];)
      if (--open[out[o]] == 0) stack.push_back(out[o]);
  }
}

}  // namespace

TaskDurations measured_durations(const Program& program) {
  TaskDurations durations(program.ranks.size());
  for (size_t r = 0; r < program.ranks.size(); ++r)
    for (const BlockTask& task : program.ranks[r].tasks) durations[r].push_back(task.duration_ns);
  return durations;
}

Result<ExecGraph> lower(const Program& program, const LowerPlan& plan, const TaskDurations& durations,
                        std::vector<TaskOrigin>* origins) {
  ExecGraph graph;
  graph.edge_begin.push_back(0);
  std::vector<std::vector<uint32_t>> arrivals(plan.meeting_ns.size());
  RankEmitter emitter(program, plan, durations, graph, arrivals, origins);
  for (uint32_t i = 0; i < plan.ranks.size(); ++i) emitter.run(i, plan.ranks[i]);
  add_rendezvous(arrivals, graph);
  if (origins != nullptr) origins->resize(graph.size());
  order_tasks(graph);
  if (graph.order.size() < graph.size()) {
    return fail(ErrorKind::kFailed,
                "the predicted pipeline stages wait for each other in a circle: {} of {} tasks never start; please "
                "report this with the job file",
                graph.size() - graph.order.size(), graph.size());
  }
  return graph;
}

bool hand_over_holds(const Program& program) {
  const TaskDurations durations = measured_durations(program);
  const auto span_ns = [&](uint32_t rank, bool hand_over) {
    LowerPlan plan;
    plan.threads_hand_over = hand_over;
    plan.ranks.push_back({program.ranks[rank].rank, {}});
    for (uint32_t b = 0; b < program.ranks[rank].blocks.size(); ++b) plan.ranks.back().blocks.push_back({rank, b});
    // A rank alone meets nobody, so nothing can wait in a circle.
    const Timeline timeline = simulate(lower(program, plan, durations).value());
    return timeline.end_ns.empty() ? int64_t{0} : *std::max_element(timeline.end_ns.begin(), timeline.end_ns.end());
  };
  const auto last = static_cast<uint32_t>(program.ranks.size()) - 1;
  for (uint32_t rank : {uint32_t{0}, last}) {
    if (program.ranks.empty()) break;
    const auto imposed = static_cast<double>(span_ns(rank, true)), traced = static_cast<double>(span_ns(rank, false));
    if (imposed > traced * (1 + kMostLonger)) return false;
  }
  return true;
}

}  // namespace lumos

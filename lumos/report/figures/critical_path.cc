#include "lumos/report/figures/critical_path.h"

#include <algorithm>

#include "lumos/trace/table/collective_names.h"

namespace lumos {

namespace {

PathCause cause_of_task(const ExecGraph& graph, uint32_t task, uint32_t rank_index) {
  const uint32_t own_rank = rank_index_of(graph, task);
  if (own_rank != rank_index) return PathCause::kWaitForRank;
  const uint32_t row = graph.event[task];
  switch (graph.kind[task]) {
    case TaskKind::kHost:
      return row == kNoIndex ? PathCause::kUntracedHost : PathCause::kHost;
    case TaskKind::kCall:
      return PathCause::kCall;
    case TaskKind::kSyncReturn:
      return PathCause::kSync;
    case TaskKind::kKernel:
    case TaskKind::kMemcpy:
    case TaskKind::kMemset: {
      const bool communicates = row != kNoIndex && is_communication(*graph.ranks[own_rank].table, row);
      return communicates ? PathCause::kCommunication : PathCause::kCompute;
    }
    case TaskKind::kArrive:
    case TaskKind::kTransfer:
    case TaskKind::kRendezvous:
      return PathCause::kCommunication;
    case TaskKind::kGap:
      return PathCause::kUnexplained;
  }
  return PathCause::kUnexplained;
}

PathCause cause_of_lag(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kLaunch:
      return PathCause::kLaunch;
    case EdgeKind::kStream:
    case EdgeKind::kInterStream:
    case EdgeKind::kQueue:
    case EdgeKind::kIssueOrder:
      return PathCause::kDispatch;
    case EdgeKind::kSync:
    case EdgeKind::kInterThread:
      return PathCause::kSync;
    case EdgeKind::kRendezvous:
    case EdgeKind::kTransferOf:
      return PathCause::kCommunication;
    case EdgeKind::kFirstWave:
      return PathCause::kCompute;
    case EdgeKind::kThread:
    case EdgeKind::kCount:
      return PathCause::kUntracedHost;
  }
  return PathCause::kUnexplained;
}

/// Collects pieces from the step's end backwards, so that each begins where the next one was cut.
class Walk {
 public:
  Walk(const ExecGraph& graph, const Timeline& timeline, uint32_t rank_index, Window window)
      : graph_(graph), timeline_(timeline), rank_index_(rank_index), cursor_ns_(window.end_ns) {
    path_.window = window;
  }

  bool done() const { return cursor_ns_ <= path_.window.start_ns; }

  /// Goes from `task`, reached at its end, back to the step's start.
  void from_end_of(uint32_t task) {
    while (!done()) {
      take(task, timeline_.start_ns[task], cause_of_task(graph_, task, rank_index_), kNoIndex);
      task = before_start_of(task);
      if (task == kNoIndex) return;
    }
  }

  /// Takes the lags that delayed the start of `task` and of those whose start it waited for. The task whose end decided
  /// in the end; kNoIndex when the step's start is reached.
  uint32_t before_start_of(uint32_t task) {
    while (!done()) {
      path_.tasks.push_back(task);
      const uint32_t binding = timeline_.binding[task];
      if (binding == kNoIndex) {
        take(task, path_.window.start_ns, PathCause::kUnexplained, kNoIndex);
        break;
      }
      const Edge& edge = graph_.edges[binding];
      const int64_t base_ns = edge.from_start ? timeline_.start_ns[edge.source] : timeline_.end_ns[edge.source];
      if (edge.kind == EdgeKind::kFirstWave) {
        // The source runs meanwhile: the time is its own.
        take(edge.source, base_ns, cause_of_task(graph_, edge.source, rank_index_), binding);
      } else {
        const bool own = rank_index_of(graph_, task) == rank_index_;
        take(task, base_ns, own ? cause_of_lag(edge.kind) : PathCause::kWaitForRank, binding);
      }
      task = edge.source;
      if (!edge.from_start) return task;
    }
    return kNoIndex;
  }

  CriticalPath result() {
    std::reverse(path_.pieces.begin(), path_.pieces.end());
    std::reverse(path_.tasks.begin(), path_.tasks.end());
    return std::move(path_);
  }

 private:
  void take(uint32_t task, int64_t from_ns, PathCause cause, uint32_t edge) {
    from_ns = std::max(from_ns, path_.window.start_ns);
    if (from_ns >= cursor_ns_) return;
    path_.pieces.push_back({task, from_ns, cursor_ns_, cause, edge});
    cursor_ns_ = from_ns;
  }

  const ExecGraph& graph_;
  const Timeline& timeline_;
  const uint32_t rank_index_;
  int64_t cursor_ns_;
  CriticalPath path_;
};

}  // namespace

uint32_t rank_index_of(const ExecGraph& graph, uint32_t task) {
  // Ranks are contiguous: the last one that does not begin after the task holds it.
  auto after = std::upper_bound(graph.ranks.begin(), graph.ranks.end(), task,
                                [](uint32_t t, const RankTasks& rank) { return t < rank.first_task; });
  return after == graph.ranks.begin() ? 0 : static_cast<uint32_t>(after - graph.ranks.begin() - 1);
}

std::string_view path_cause_name(PathCause cause) {
  switch (cause) {
    case PathCause::kCompute:
      return "compute";
    case PathCause::kCommunication:
      return "communication";
    case PathCause::kWaitForRank:
      return "waiting for a rank";
    case PathCause::kLaunch:
      return "launch latency";
    case PathCause::kDispatch:
      return "between kernels";
    case PathCause::kHost:
      return "host operators";
    case PathCause::kCall:
      return "runtime calls";
    case PathCause::kUntracedHost:
      return "host, untraced";
    case PathCause::kSync:
      return "synchronisation";
    case PathCause::kUnexplained:
    case PathCause::kCount:
      break;
  }
  return "unexplained";
}

CriticalPath critical_path(const ExecGraph& graph, const Timeline& timeline, uint32_t rank_index, const Step& step) {
  const Window window = simulated_window(timeline, step);
  Walk walk(graph, timeline, rank_index, window);
  uint32_t last = kNoIndex;
  // What the GPU finished last ends the step only where the host did not get to its end later.
  const bool host_ends = step.next_task != kNoIndex   ? timeline.start_ns[step.next_task] == window.end_ns
                         : step.last_task != kNoIndex ? timeline.end_ns[step.last_task] == window.end_ns
                                                      : false;
  if (host_ends) {
    last = step.next_task != kNoIndex ? walk.before_start_of(step.next_task) : step.last_task;
  } else {
    for (uint32_t task : step.last_gpu_tasks) {
      if (timeline.end_ns[task] == window.end_ns) last = task;
    }
  }
  if (last != kNoIndex) walk.from_end_of(last);
  return walk.result();
}

}  // namespace lumos

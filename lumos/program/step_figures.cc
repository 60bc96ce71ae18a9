#include "lumos/program/step_figures.h"

#include <algorithm>

namespace lumos {
namespace {

/// A change in how many kernels of a kind are running.
struct Change {
  int64_t at_ns;
  int32_t compute;
  int32_t comm;
};

constexpr double kNsPerMs = 1e6;

}  // namespace

StepFigures& StepFigures::operator+=(const StepFigures& other) {
  step_ms += other.step_ms;
  exposed_compute_ms += other.exposed_compute_ms;
  overlapped_ms += other.overlapped_ms;
  exposed_comm_ms += other.exposed_comm_ms;
  other_ms += other.other_ms;
  kernel_ms += other.kernel_ms;
  return *this;
}

StepFigures StepFigures::operator*(double factor) const {
  return {step_ms * factor,         exposed_compute_ms * factor, overlapped_ms * factor,
          exposed_comm_ms * factor, other_ms * factor,           kernel_ms * factor};
}

StepFigures step_figures(const ExecGraph& graph, const RankTasks& rank, const Timeline& timeline) {
  if (rank.steps.empty()) return {};
  const Step& step = rank.steps.front();
  const int64_t begin = timeline.start_ns[step.first_task];
  int64_t end = step.last_task == kNoIndex ? begin : timeline.end_ns[step.last_task];
  for (uint32_t task : step.last_gpu_tasks) end = std::max(end, timeline.end_ns[task]);

  std::vector<Change> changes;
  int64_t kernel_ns = 0;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    const TaskKind kind = graph.kind[task];
    if (!is_gpu_task(kind) || kind == TaskKind::kArrive) continue;
    int64_t start = timeline.start_ns[task];
    const bool comm = kind == TaskKind::kTransfer;
    if (comm) {
      // A communication kernel occupies its stream from its arrival, waiting included.
      for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e)
        if (graph.edges[e].kind == EdgeKind::kTransferOf) start = timeline.end_ns[graph.edges[e].source];
    } else {
      kernel_ns += timeline.end_ns[task] - start;
    }
    if (timeline.end_ns[task] <= start) continue;
    changes.push_back({start, comm ? 0 : 1, comm ? 1 : 0});
    changes.push_back({timeline.end_ns[task], comm ? 0 : -1, comm ? -1 : 0});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at_ns < b.at_ns; });

  int64_t parts[2][2] = {{0, 0}, {0, 0}};  // [compute][comm]
  int64_t at = begin;
  int32_t compute = 0, comm = 0;
  for (const Change& change : changes) {
    const int64_t until = std::clamp(change.at_ns, at, std::max(at, end));
    parts[compute > 0][comm > 0] += until - at;
    at = until;
    compute += change.compute;
    comm += change.comm;
  }
  parts[compute > 0][comm > 0] += std::max<int64_t>(0, end - at);
  StepFigures figures;
  figures.step_ms = static_cast<double>(end - begin) / kNsPerMs;
  figures.exposed_compute_ms = static_cast<double>(parts[1][0]) / kNsPerMs;
  figures.overlapped_ms = static_cast<double>(parts[1][1]) / kNsPerMs;
  figures.exposed_comm_ms = static_cast<double>(parts[0][1]) / kNsPerMs;
  figures.other_ms = static_cast<double>(parts[0][0]) / kNsPerMs;
  figures.kernel_ms = static_cast<double>(kernel_ns) / kNsPerMs;
  return figures;
}

StepFigures mean_figures(const ExecGraph& graph, const Timeline& timeline) {
  StepFigures sum;
  for (const RankTasks& rank : graph.ranks) sum += step_figures(graph, rank, timeline);
  return graph.ranks.empty() ? sum : sum * (1.0 / static_cast<double>(graph.ranks.size()));
}

}  // namespace lumos

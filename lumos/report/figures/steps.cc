#include "lumos/report/figures/steps.h"

#include <algorithm>

namespace lumos {

namespace {

template <class StartOf, class EndOf>
Window window_of(const Step& step, StartOf start_of, EndOf end_of) {
  Window window;
  window.start_ns = start_of(step.first_task);
  window.end_ns = window.start_ns;
  if (step.next_task != kNoIndex) {
    window.end_ns = std::max(window.end_ns, start_of(step.next_task));
  } else if (step.last_task != kNoIndex) {
    window.end_ns = std::max(window.end_ns, end_of(step.last_task));
  }
  for (uint32_t task : step.last_gpu_tasks) window.end_ns = std::max(window.end_ns, end_of(task));
  return window;
}

}  // namespace

int64_t measured_end_ns(const ExecGraph& graph, const RankTasks& rank, uint32_t task) {
  const TaskKind kind = graph.kind[task];
  const uint32_t row = graph.event[task];
  const bool ends_with_event = kind == TaskKind::kKernel || kind == TaskKind::kMemcpy || kind == TaskKind::kMemset ||
                               kind == TaskKind::kTransfer || kind == TaskKind::kSyncReturn;
  if (ends_with_event && row != kNoIndex) return rank.table->end_ns(row);
  return graph.measured_start_ns[task] + graph.duration_ns[task];
}

Window measured_window(const ExecGraph& graph, const RankTasks& rank, const Step& step) {
  return window_of(
      step, [&](uint32_t task) { return graph.measured_start_ns[task]; },
      [&](uint32_t task) { return measured_end_ns(graph, rank, task); });
}

Window simulated_window(const Timeline& timeline, const Step& step) {
  return window_of(
      step, [&](uint32_t task) { return timeline.start_ns[task]; },
      [&](uint32_t task) { return timeline.end_ns[task]; });
}

std::vector<uint32_t> chosen_steps(const RankTasks& rank) {
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < rank.steps.size(); ++i) {
    if (rank.steps[i].chosen) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace lumos

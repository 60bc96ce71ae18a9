// Whole replays for tests: a trace's graph, its simulation, and the steps read off it. Tests only.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/rank/build.h"
#include "lumos/sim/simulate.h"
#include "lumos/trace/kineto/reader.h"

namespace lumos {

inline std::shared_ptr<const EventTable> read_table(const std::string& path, int threads = 0) {
  ReadOptions options;
  options.threads = threads;
  Result<EventTable> table = read_trace(path, options);
  CHECK(table.has_value());
  return std::make_shared<const EventTable>(std::move(*table));
}

/// Length of each step of the first rank: to the start of the next one, or to the end of its last work.
inline std::vector<int64_t> step_lengths_ns(const ExecGraph& graph, const Timeline& timeline) {
  std::vector<int64_t> out;
  for (const Step& step : graph.ranks[0].steps) {
    int64_t end = step.next_task != kNoIndex   ? timeline.start_ns[step.next_task]
                  : step.last_task != kNoIndex ? timeline.end_ns[step.last_task]
                                               : 0;
    for (uint32_t task : step.last_gpu_tasks) end = std::max(end, timeline.end_ns[task]);
    out.push_back(end - timeline.start_ns[step.first_task]);
  }
  return out;
}

inline std::vector<int64_t> step_lengths_ns(const ExecGraph& graph) { return step_lengths_ns(graph, simulate(graph)); }

/// Mean length of the chosen steps.
inline double chosen_step_ns(const ExecGraph& graph) {
  const std::vector<int64_t> lengths = step_lengths_ns(graph);
  double sum = 0, count = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (!graph.ranks[0].steps[i].chosen) continue;
    sum += static_cast<double>(lengths[i]);
    count += 1;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace lumos

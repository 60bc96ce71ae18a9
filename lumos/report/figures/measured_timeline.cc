#include "lumos/report/figures/measured_timeline.h"

#include <limits>

#include "lumos/report/figures/steps.h"

namespace lumos {

namespace {

uint32_t measured_binding(const ExecGraph& graph, const RankTasks& rank, const Timeline& timeline, uint32_t task) {
  uint32_t binding = kNoIndex;
  int64_t latest_ns = std::numeric_limits<int64_t>::min();
  for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
    const Edge& edge = graph.edges[e];
    if (edge.source < rank.first_task || edge.source >= rank.end_task) continue;
    const int64_t base_ns = edge.from_start ? timeline.start_ns[edge.source] : timeline.end_ns[edge.source];
    if (base_ns + edge.lag_ns < latest_ns) continue;
    latest_ns = base_ns + edge.lag_ns;
    binding = e;
  }
  return binding;
}

}  // namespace

Timeline measured_timeline(const ExecGraph& graph) {
  Timeline timeline;
  timeline.start_ns = graph.measured_start_ns;
  timeline.end_ns = graph.measured_start_ns;
  timeline.binding.assign(graph.size(), kNoIndex);
  for (const RankTasks& rank : graph.ranks) {
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      timeline.end_ns[task] = measured_end_ns(graph, rank, task);
    }
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      timeline.binding[task] = measured_binding(graph, rank, timeline, task);
    }
  }
  return timeline;
}

}  // namespace lumos

#include "lumos/sim/simulate.h"

#include "lumos/base/result.h"

namespace lumos {

namespace {

void run_task(const ExecGraph& graph, uint32_t task, Timeline& out) {
  int64_t start = 0;
  uint32_t binding = kNoIndex;
  const uint32_t end = graph.edge_begin[task + 1];
  for (uint32_t e = graph.edge_begin[task]; e < end; ++e) {
    const Edge& edge = graph.edges[e];
    const int64_t from = edge.from_start ? out.start_ns[edge.source] : out.end_ns[edge.source];
    const int64_t ready = from + edge.lag_ns;
    // On a tie the later edge wins: builders list program order first, so the cause from elsewhere is the one named.
    if (ready >= start) {
      start = ready;
      binding = e;
    }
  }
  out.start_ns[task] = start;
  out.end_ns[task] = start + graph.duration_ns[task];
  out.binding[task] = binding;
}

}  // namespace

void simulate_into(const ExecGraph& graph, Timeline& timeline) {
  const uint32_t count = graph.size();
  timeline.start_ns.resize(count);
  timeline.end_ns.resize(count);
  timeline.binding.resize(count);
  if (graph.order.empty()) {
    for (uint32_t task = 0; task < count; ++task) run_task(graph, task, timeline);
  } else {
    CHECK(graph.order.size() == count);
    for (uint32_t task : graph.order) run_task(graph, task, timeline);
  }
}

Timeline simulate(const ExecGraph& graph) {
  Timeline out;
  simulate_into(graph, out);
  return out;
}

}  // namespace lumos

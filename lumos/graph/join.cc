#include "lumos/graph/join.h"

#include <iterator>
#include <utility>

#include "lumos/base/result.h"

namespace lumos {

namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void shift(uint32_t& id, uint32_t by) {
  if (id != kNoIndex) id += by;
}

void shift(RankTasks& rank, uint32_t by) {
  rank.first_task += by;
  rank.end_task += by;
  for (Step& step : rank.steps) {
    shift(step.first_task, by);
    shift(step.next_task, by);
    shift(step.last_task, by);
    for (uint32_t& task : step.last_gpu_tasks) shift(task, by);
  }
}

void append(ExecGraph& to, ExecGraph& from) {
  const uint32_t tasks = to.size();
  const uint32_t edges = static_cast<uint32_t>(to.edges.size());
  const uint32_t processors = static_cast<uint32_t>(to.processors.size());
  const uint32_t ranks = static_cast<uint32_t>(to.ranks.size());
  for (uint32_t& processor : from.processor) {
    if (processor != kNoProcessor) processor += processors;
  }
  for (Edge& edge : from.edges) edge.source += tasks;
  for (uint32_t& begin : from.edge_begin) begin += edges;
  for (Processor& processor : from.processors) processor.rank_index += ranks;
  for (RankTasks& rank : from.ranks) shift(rank, tasks);
  append(to.event, from.event);
  append(to.kind, from.kind);
  append(to.processor, from.processor);
  append(to.duration_ns, from.duration_ns);
  append(to.measured_start_ns, from.measured_start_ns);
  to.edge_begin.pop_back();
  append(to.edge_begin, from.edge_begin);
  append(to.edges, from.edges);
  append(to.processors, from.processors);
  append(to.ranks, from.ranks);
}

}  // namespace

ExecGraph join_ranks(std::vector<ExecGraph> graphs) {
  if (graphs.size() == 1) return std::move(graphs[0]);
  ExecGraph joined;
  joined.edge_begin = {0};
  for (ExecGraph& graph : graphs) {
    CHECK(graph.order.empty());  // Only linked ranks need another order than the numbering.
    append(joined, graph);
  }
  return joined;
}

}  // namespace lumos

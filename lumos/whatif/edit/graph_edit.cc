#include "lumos/whatif/edit/graph_edit.h"

#include <algorithm>

#include "lumos/graph/job/link.h"

namespace lumos {

Result<ExecGraph> GraphEdit::finish() {
  std::stable_sort(added_.begin(), added_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Edge> edges;
  edges.reserve(graph_.edges.size() + added_.size());
  std::vector<uint32_t> begin;
  begin.reserve(graph_.edge_begin.size());
  auto added = added_.begin();
  for (uint32_t task = 0; task < graph_.size(); ++task) {
    begin.push_back(static_cast<uint32_t>(edges.size()));
    const uint32_t first = graph_.edge_begin[task], last = graph_.edge_begin[task + 1];
    for (uint32_t e = first; e < last; ++e) {
      if (!dropped_[e]) edges.push_back(graph_.edges[e]);
    }
    for (; added != added_.end() && added->first == task; ++added) edges.push_back(added->second);
    if (begin.back() == edges.size() && first < last) {
      edges.push_back(graph_.edges[first]);
      edges.back().lag_ns = 0;
    }
  }
  begin.push_back(static_cast<uint32_t>(edges.size()));
  graph_.edges = std::move(edges);
  graph_.edge_begin = std::move(begin);
  if (!added_.empty()) {
    graph_.order = order_by_rank(graph_);
    if (graph_.order.size() != graph_.size()) {
      return fail(ErrorKind::kUsage, "the changed job cannot run: its ranks would wait for each other for ever");
    }
  }
  return std::move(graph_);
}

}  // namespace lumos

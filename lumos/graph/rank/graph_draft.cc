#include "lumos/graph/rank/graph_draft.h"

#include <algorithm>
#include <limits>

#include "lumos/base/result.h"

namespace lumos {

void GraphDraft::depend(uint32_t target, uint32_t source, EdgeKind kind, int64_t lag_ns, bool from_start, bool recorded,
                        uint8_t confidence_pct) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t lag = std::clamp<int64_t>(lag_ns, -kMost, kMost);
  edges.push_back({target, {source, static_cast<int32_t>(lag), kind, from_start, recorded, confidence_pct}});
}

namespace {

struct Successors {
  std::vector<uint32_t> begin;
  std::vector<uint32_t> target;
};

Successors successors_of(const GraphDraft& draft, const std::vector<bool>& dropped) {
  Successors out;
  out.begin.assign(draft.tasks.size() + 1, 0);
  for (size_t e = 0; e < draft.edges.size(); ++e) {
    if (!dropped[e]) ++out.begin[draft.edges[e].edge.source + 1];
  }
  for (size_t t = 0; t < draft.tasks.size(); ++t) out.begin[t + 1] += out.begin[t];
  out.target.resize(out.begin.back());
  std::vector<uint32_t> next(out.begin.begin(), out.begin.end() - 1);
  for (size_t e = 0; e < draft.edges.size(); ++e) {
    if (!dropped[e]) out.target[next[draft.edges[e].edge.source]++] = draft.edges[e].target;
  }
  return out;
}

// Kahn's algorithm, depth first along what has just become ready, so that a thread's tasks stay together in memory.
std::vector<uint32_t> topological_order(const GraphDraft& draft, const std::vector<bool>& dropped) {
  const Successors next = successors_of(draft, dropped);
  std::vector<uint32_t> open(draft.tasks.size(), 0);
  for (size_t e = 0; e < draft.edges.size(); ++e) {
    if (!dropped[e]) ++open[draft.edges[e].target];
  }
  std::vector<uint32_t> order, ready;
  order.reserve(draft.tasks.size());
  for (uint32_t t = static_cast<uint32_t>(draft.tasks.size()); t-- > 0;) {
    if (open[t] == 0) ready.push_back(t);
  }
  while (!ready.empty()) {
    const uint32_t task = ready.back();
    ready.pop_back();
    order.push_back(task);
    for (uint32_t i = next.begin[task + 1]; i-- > next.begin[task];) {
      if (--open[next.target[i]] == 0) ready.push_back(next.target[i]);
    }
  }
  return order;
}

// How much an edge is believed, for choosing which edge of a cycle goes: order within a processor stays.
int belief(const Edge& edge) {
  switch (edge.kind) {
    case EdgeKind::kThread:
    case EdgeKind::kTransferOf:
      return 1000;
    case EdgeKind::kLaunch:
      return 900;
    case EdgeKind::kStream:
      return 800;
    case EdgeKind::kInterStream:
      return edge.recorded ? 700 : edge.confidence_pct;
    case EdgeKind::kSync:
      return edge.recorded ? 600 : 300;
    case EdgeKind::kInterThread:
      return 200;
    default:
      return 0;
  }
}

// The least believed edge of the cycle through `task` along `back`.
uint32_t least_believed(const GraphDraft& draft, const std::vector<uint32_t>& back, uint32_t task) {
  uint32_t least = back[task];
  for (uint32_t t = draft.edges[least].edge.source; t != task; t = draft.edges[back[t]].edge.source) {
    if (belief(draft.edges[back[t]].edge) < belief(draft.edges[least].edge)) least = back[t];
  }
  return least;
}

// An open edge into each task that could not be ordered, from another such task: walking back along them must run into
// a cycle. Of each cycle the least believed edge goes. Returns their number.
uint32_t break_cycles(const GraphDraft& draft, const std::vector<uint32_t>& order, std::vector<bool>& dropped) {
  std::vector<bool> ordered(draft.tasks.size(), false);
  for (uint32_t t : order) ordered[t] = true;
  std::vector<uint32_t> back(draft.tasks.size(), kNoIndex);
  for (uint32_t e = 0; e < draft.edges.size(); ++e) {
    const DraftEdge& d = draft.edges[e];
    if (dropped[e] || ordered[d.target] || ordered[d.edge.source]) continue;
    if (back[d.target] == kNoIndex || belief(d.edge) < belief(draft.edges[back[d.target]].edge)) back[d.target] = e;
  }
  uint32_t broken = 0;
  std::vector<uint32_t> walk_of(draft.tasks.size(), kNoIndex);
  for (uint32_t begin = 0; begin < draft.tasks.size(); ++begin) {
    uint32_t task = begin;
    while (back[task] != kNoIndex && walk_of[task] == kNoIndex) {
      walk_of[task] = begin;
      task = draft.edges[back[task]].edge.source;
    }
    // A walk that runs into an earlier one ends where that one did.
    if (back[task] == kNoIndex || walk_of[task] != begin) continue;
    dropped[least_believed(draft, back, task)] = true;
    ++broken;
  }
  CHECK(broken > 0);
  return broken;
}

}  // namespace

FinishedGraph finish_graph(const GraphDraft& draft) {
  FinishedGraph out;
  const size_t count = draft.tasks.size();
  CHECK(count < kNoIndex);
  std::vector<bool> dropped(draft.edges.size(), false);
  std::vector<uint32_t> order = topological_order(draft, dropped);
  while (order.size() < count) {
    out.dropped_edges += break_cycles(draft, order, dropped);
    order = topological_order(draft, dropped);
  }
  out.new_id.resize(count);
  for (uint32_t i = 0; i < count; ++i) out.new_id[order[i]] = i;

  ExecGraph& g = out.graph;
  g.event.resize(count);
  g.kind.resize(count);
  g.processor.resize(count);
  g.duration_ns.resize(count);
  g.measured_start_ns.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    const DraftTask& task = draft.tasks[order[i]];
    g.event[i] = task.event;
    g.kind[i] = task.kind;
    g.processor[i] = task.processor;
    g.duration_ns[i] = task.duration_ns;
    g.measured_start_ns[i] = task.measured_start_ns;
  }
  g.edge_begin.assign(count + 1, 0);
  for (size_t e = 0; e < draft.edges.size(); ++e) {
    if (!dropped[e]) ++g.edge_begin[out.new_id[draft.edges[e].target] + 1];
  }
  for (size_t t = 0; t < count; ++t) g.edge_begin[t + 1] += g.edge_begin[t];
  g.edges.resize(g.edge_begin.back());
  std::vector<uint32_t> next(g.edge_begin.begin(), g.edge_begin.end() - 1);
  for (size_t e = 0; e < draft.edges.size(); ++e) {
    if (dropped[e]) continue;
    Edge edge = draft.edges[e].edge;
    edge.source = out.new_id[edge.source];
    g.edges[next[out.new_id[draft.edges[e].target]]++] = edge;
  }
  return out;
}

}  // namespace lumos

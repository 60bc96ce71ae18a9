// Small graphs written by hand, for tests of sim/ and report/: rows and tasks are added one by one, in task order, and
// measured times are what the row says unless the test tells otherwise.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// Builds the graph of one rank. Lanes 0 .. threads-1 are CPU threads, the others GPU streams.
class TestGraph {
 public:
  TestGraph(uint32_t threads, uint32_t streams) : table_(std::make_shared<EventTable>()) {
    for (uint32_t lane = 0; lane < threads + streams; ++lane) {
      Lane where;
      where.is_gpu = lane >= threads;
      where.pid = where.is_gpu ? 0 : 100;
      where.tid = where.is_gpu ? 7 + lane - threads : 100 + lane;
      where.pid_text = names_->intern(std::to_string(where.pid));
      where.tid_text = names_->intern(std::to_string(where.tid));
      table_->lanes.push_back(where);
      graph_.processors.push_back({0, lane, where.is_gpu});
    }
  }

  uint32_t row(EventKind kind, const std::string& name, uint32_t lane, int64_t ts_ns, int64_t dur_ns,
               int64_t correlation = -1) {
    table_->ts_ns.push_back(ts_ns);
    table_->dur_ns.push_back(dur_ns);
    table_->name.push_back(names_->intern(name));
    table_->lane.push_back(lane);
    table_->kind.push_back(kind);
    table_->correlation.push_back(correlation);
    table_->external_id.push_back(0);
    table_->detail.push_back(kNoIndex);
    return static_cast<uint32_t>(table_->size() - 1);
  }

  /// A task whose dependencies are `edges`; `row` may be kNoIndex.
  uint32_t task(TaskKind kind, uint32_t row, int64_t measured_start_ns, int64_t duration_ns, std::vector<Edge> edges) {
    graph_.event.push_back(row);
    graph_.kind.push_back(kind);
    graph_.processor.push_back(row == kNoIndex ? 0 : table_->lane[row]);
    graph_.duration_ns.push_back(duration_ns);
    graph_.measured_start_ns.push_back(measured_start_ns);
    graph_.edge_begin.push_back(static_cast<uint32_t>(graph_.edges.size()));
    graph_.edges.insert(graph_.edges.end(), edges.begin(), edges.end());
    return graph_.size() - 1;
  }

  EventTable& table() { return *table_; }
  NamePool& names() { return *names_; }

  ExecGraph finish(std::vector<Step> steps) {
    graph_.edge_begin.push_back(static_cast<uint32_t>(graph_.edges.size()));
    table_->names = names_;
    RankTasks rank;
    rank.end_task = graph_.size();
    rank.table = table_;
    rank.steps = std::move(steps);
    graph_.ranks = {rank};
    return std::move(graph_);
  }

 private:
  std::shared_ptr<NamePool> names_ = std::make_shared<NamePool>();
  std::shared_ptr<EventTable> table_;
  ExecGraph graph_;
};

inline Edge edge(uint32_t source, EdgeKind kind, int32_t lag_ns = 0, bool from_start = false) {
  Edge result;
  result.source = source;
  result.kind = kind;
  result.lag_ns = lag_ns;
  result.from_start = from_start;
  return result;
}

/// Kernels with random durations, lags and dependencies, measured at random times; the first one at 0.
inline ExecGraph random_graph(uint32_t seed) {
  std::mt19937 random(seed);
  const auto number = [&](int32_t from, int32_t to) {
    return std::uniform_int_distribution<int32_t>(from, to)(random);
  };
  TestGraph g(1, 1);
  const int32_t tasks = number(1, 40);
  for (int32_t t = 0; t < tasks; ++t) {
    const uint32_t row = g.row(EventKind::kKernel, "k", 1, 0, 1);
    std::vector<Edge> edges;
    for (int32_t i = t == 0 ? 0 : number(0, 3); i > 0; --i) {
      edges.push_back(edge(static_cast<uint32_t>(number(0, t - 1)), EdgeKind::kStream, number(-50, 100), number(0, 1)));
    }
    g.task(TaskKind::kKernel, row, t == 0 ? 0 : number(0, 10000), number(0, 300), edges);
  }
  return g.finish({});
}

/// One step: an operator launches a kernel of 500 ns and a collective of 400 ns, which waits for the kernel through
/// another stream, and synchronises. Rows: 0 step annotation [1000, 3000), 1 operator [1100, 1500), 2 and 3 launches in
/// it, 4 synchronise [1600, 2600), 5 kernel [1350, 1850), 6 collective [1900, 2300). Latencies are 100, the stream wait
/// takes 50, the return from the synchronise 100 (measured: 200 more than the dependencies explain).
inline ExecGraph small_step() {
  TestGraph g(1, 2);
  const uint32_t step = g.row(EventKind::kAnnotation, "ProfilerStep#1", 0, 1000, 2000);
  const uint32_t op = g.row(EventKind::kCpuOp, "aten::mm", 0, 1100, 400);
  const uint32_t launch_a = g.row(EventKind::kRuntime, "cudaLaunchKernel", 0, 1250, 50, 11);
  const uint32_t launch_b = g.row(EventKind::kRuntime, "cudaLaunchKernel", 0, 1400, 50, 12);
  const uint32_t sync = g.row(EventKind::kRuntime, "cudaDeviceSynchronize", 0, 1600, 1000, 13);
  const uint32_t kernel = g.row(EventKind::kKernel, "void gemm<float>(float*)", 1, 1350, 500, 11);
  const uint32_t comm = g.row(EventKind::kKernel, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 2, 1900, 400, 12);

  using enum EdgeKind;
  const auto host = [&](TaskKind kind, uint32_t row, int64_t at, int64_t ns, std::vector<Edge> more = {}) {
    return g.task(kind, row, at, ns, std::move(more));
  };
  uint32_t t = host(TaskKind::kHost, step, 1000, 100);
  t = host(TaskKind::kHost, op, 1100, 150, {edge(t, kThread)});
  const uint32_t call_a = t = host(TaskKind::kCall, launch_a, 1250, 50, {edge(t, kThread)});
  t = host(TaskKind::kHost, op, 1300, 100, {edge(t, kThread)});
  const uint32_t call_b = t = host(TaskKind::kCall, launch_b, 1400, 50, {edge(t, kThread)});
  t = host(TaskKind::kHost, op, 1450, 50, {edge(t, kThread)});
  t = host(TaskKind::kHost, step, 1500, 100, {edge(t, kThread)});
  t = host(TaskKind::kCall, sync, 1600, 20, {edge(t, kThread)});
  const uint32_t k = g.task(TaskKind::kKernel, kernel, 1350, 500, {edge(call_a, kLaunch, 100, true)});
  const uint32_t c =
      g.task(TaskKind::kKernel, comm, 1900, 400, {edge(call_b, kLaunch, 100, true), edge(k, kInterStream, 50)});
  t = host(TaskKind::kSyncReturn, sync, 2600, 0, {edge(t, kThread), edge(c, kSync, 100)});
  t = host(TaskKind::kHost, step, 2600, 400, {edge(t, kThread)});
  Step whole;
  whole.name = "ProfilerStep#1";
  whole.last_task = t;
  whole.last_gpu_tasks = {k, c};
  return g.finish({whole});
}

}  // namespace lumos

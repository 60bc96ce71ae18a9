#include "lumos/sim/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

TEST(Simulate, ATaskStartsWhenTheLastOfItsDependenciesAllows) {
  const ExecGraph graph = small_step();
  const Timeline t = simulate(graph);
  // By hand, from 0: host 100 + 150, launch at 250, second launch at 400, collective 50 after the kernel's end.
  EXPECT_EQ(t.start_ns, (std::vector<int64_t>{0, 100, 250, 300, 400, 450, 500, 600, 350, 900, 1400, 1400}));
  EXPECT_EQ(t.end_ns[9], 1300);
}

TEST(Simulate, TheBindingDependencyIsTheOneThatDecided) {
  const ExecGraph graph = small_step();
  const Timeline t = simulate(graph);
  EXPECT_EQ(t.binding[0], kNoIndex);
  EXPECT_EQ(graph.edges[t.binding[9]].kind, EdgeKind::kInterStream);
  EXPECT_EQ(graph.edges[t.binding[10]].kind, EdgeKind::kSync);
}

TEST(Simulate, OnATieTheLaterDependencyBinds) {
  TestGraph g(1, 1);
  const uint32_t row = g.row(EventKind::kCpuOp, "op", 0, 0, 10);
  const uint32_t a = g.task(TaskKind::kHost, row, 0, 10, {});
  const uint32_t b = g.task(TaskKind::kHost, row, 0, 10, {});
  g.task(TaskKind::kHost, row, 10, 10, {edge(a, EdgeKind::kThread), edge(b, EdgeKind::kInterThread)});
  const ExecGraph graph = g.finish({});
  EXPECT_EQ(graph.edges[simulate(graph).binding[2]].kind, EdgeKind::kInterThread);
}

TEST(Simulate, LagsCountFromStartOrEndAndMayBeNegative) {
  TestGraph g(1, 1);
  const uint32_t row = g.row(EventKind::kCpuOp, "op", 0, 0, 100);
  const uint32_t a = g.task(TaskKind::kHost, row, 0, 100, {});
  g.task(TaskKind::kHost, row, 0, 1, {edge(a, EdgeKind::kLaunch, 30, true)});
  g.task(TaskKind::kHost, row, 0, 1, {edge(a, EdgeKind::kStream, -20)});
  g.task(TaskKind::kHost, row, 0, 1, {edge(a, EdgeKind::kStream, -200)});
  const Timeline t = simulate(g.finish({}));
  EXPECT_EQ(t.start_ns, (std::vector<int64_t>{0, 30, 80, 0}));  // nothing starts before the simulation
}

TEST(Simulate, AnOrderOfItsOwnIsFollowed) {
  TestGraph g(1, 0);
  const uint32_t row = g.row(EventKind::kCpuOp, "op", 0, 0, 10);
  g.task(TaskKind::kHost, row, 0, 10, {edge(1, EdgeKind::kRendezvous)});  // waits for a task of a higher number
  g.task(TaskKind::kHost, row, 0, 7, {});
  ExecGraph graph = g.finish({});
  graph.order = {1, 0};
  EXPECT_EQ(simulate(graph).start_ns, (std::vector<int64_t>{7, 0}));
}

TEST(Simulate, NothingGivesNothing) {
  TestGraph g(0, 0);
  EXPECT_TRUE(simulate(g.finish({})).start_ns.empty());
}

TEST(Simulate, NoTaskStartsTooEarlyOrLaterThanItMust) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const ExecGraph graph = random_graph(seed);
    const Timeline t = simulate(graph);
    for (uint32_t task = 0; task < graph.size(); ++task) {
      int64_t must = 0;
      for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
        const Edge& edge = graph.edges[e];
        must = std::max(must, (edge.from_start ? t.start_ns : t.end_ns)[edge.source] + edge.lag_ns);
      }
      ASSERT_EQ(t.start_ns[task], must) << "seed " << seed << ", task " << task;
      ASSERT_EQ(t.end_ns[task], must + graph.duration_ns[task]) << "seed " << seed << ", task " << task;
    }
  }
}

}  // namespace
}  // namespace lumos

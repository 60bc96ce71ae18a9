#include "lumos/report/figures/critical_path.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <numeric>

#include "lumos/report/figures/residual.h"
#include "lumos/report/results/path_table.h"
#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

void expect_joined(const CriticalPath& path) {
  int64_t reached = path.window.start_ns;
  for (const PathPiece& piece : path.pieces) {
    EXPECT_EQ(piece.from_ns, reached);
    EXPECT_GT(piece.length_ns(), 0);
    reached = piece.to_ns;
  }
  EXPECT_EQ(reached, path.window.end_ns);
}

TEST(CriticalPath, GoesThroughTheKernelTheCollectiveAndTheHost) {
  const ExecGraph graph = small_step();
  const CriticalPath path = critical_path(graph, simulate(graph), 0, graph.ranks[0].steps[0]);
  expect_joined(path);
  std::vector<std::pair<PathCause, int64_t>> got;
  for (const PathPiece& piece : path.pieces) got.emplace_back(piece.cause, piece.length_ns());
  const std::vector<std::pair<PathCause, int64_t>> expected = {
      {PathCause::kHost, 100},    {PathCause::kHost, 150},    {PathCause::kLaunch, 100},
      {PathCause::kCompute, 500}, {PathCause::kDispatch, 50}, {PathCause::kCommunication, 400},
      {PathCause::kSync, 100},    {PathCause::kHost, 400}};
  EXPECT_EQ(got, expected);
}

TEST(CriticalPath, TablesSumToTheStep) {
  const ExecGraph graph = small_step();
  const CriticalPath path = critical_path(graph, simulate(graph), 0, graph.ranks[0].steps[0]);
  for (const auto& shares : {path_by_cause(graph, path), path_by_task(graph, path)}) {
    int64_t sum = 0;
    for (const PathShare& share : shares) sum += share.time_ns;
    EXPECT_EQ(sum, path.window.length_ns());
  }
  const std::string text = critical_path_text(graph, 0, graph.ranks[0].steps[0], path, 3);
  EXPECT_NE(text.find("communication: ncclDevKernel_AllReduce_Sum_f32_RING_LL"), std::string::npos) << text;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) EXPECT_LE(end - at, 80u);
}

TEST(CriticalPath, EndsWithTheGpuWhereNothingWaitsForIt) {
  TestGraph g(1, 1);
  const uint32_t op = g.row(EventKind::kCpuOp, "op", 0, 0, 10);
  const uint32_t kernel = g.row(EventKind::kKernel, "k", 1, 15, 100);
  const uint32_t host = g.task(TaskKind::kHost, op, 0, 10, {});
  const uint32_t gpu = g.task(TaskKind::kKernel, kernel, 15, 100, {edge(host, EdgeKind::kLaunch, 5)});
  Step step;
  step.last_task = host;
  step.last_gpu_tasks = {gpu};
  const ExecGraph graph = g.finish({step});
  const CriticalPath path = critical_path(graph, simulate(graph), 0, graph.ranks[0].steps[0]);
  expect_joined(path);
  EXPECT_EQ(path.window.length_ns(), 115);
  EXPECT_EQ(path.pieces.back().task, gpu);
}

/// Any graph: tasks depend on any earlier ones, with lags of either sign.
ExecGraph some_graph() {
  TestGraph g(1, 1);
  const uint32_t op = g.row(EventKind::kCpuOp, "op", 0, 0, 1);
  const uint32_t kernel = g.row(EventKind::kKernel, "k", 1, 0, 1);
  const auto count = *rc::gen::inRange<uint32_t>(1, 30);
  for (uint32_t t = 0; t < count; ++t) {
    std::vector<Edge> edges;
    for (uint32_t i = 0; t > 0 && i < *rc::gen::inRange<uint32_t>(0, 4); ++i) {
      edges.push_back(edge(*rc::gen::inRange<uint32_t>(0, t), EdgeKind::kLaunch, *rc::gen::inRange(-10, 20),
                           *rc::gen::arbitrary<bool>()));
    }
    const bool gpu = *rc::gen::arbitrary<bool>();
    g.task(gpu ? TaskKind::kKernel : TaskKind::kHost, gpu ? kernel : op, 0, *rc::gen::inRange(0, 50), edges);
  }
  Step step;
  step.first_task = *rc::gen::inRange<uint32_t>(0, count);
  if (*rc::gen::arbitrary<bool>()) {
    step.next_task = *rc::gen::inRange<uint32_t>(step.first_task, count);
  } else {
    step.last_task = *rc::gen::inRange<uint32_t>(step.first_task, count);
  }
  step.last_gpu_tasks = {*rc::gen::inRange<uint32_t>(0, count)};
  return g.finish({step});
}

TEST(CriticalPath, SumsToTheStepInAnyGraph) {
  EXPECT_TRUE(rc::check([] {
    const ExecGraph graph = some_graph();
    const CriticalPath path = critical_path(graph, simulate(graph), 0, graph.ranks[0].steps[0]);
    int64_t reached = path.window.start_ns;
    for (const PathPiece& piece : path.pieces) {
      RC_ASSERT(piece.from_ns == reached && piece.to_ns > piece.from_ns);
      reached = piece.to_ns;
    }
    RC_ASSERT(reached == path.window.end_ns);
  }));
}

TEST(Residual, IsWhatTheDependenciesDoNotExplain) {
  const ExecGraph graph = small_step();
  const RankTasks& rank = graph.ranks[0];
  EXPECT_EQ(residual_ns(graph, rank, 0), 0);     // no dependency, nothing to explain
  EXPECT_EQ(residual_ns(graph, rank, 9), 0);     // the collective: 1850 + 50
  EXPECT_EQ(residual_ns(graph, rank, 10), 200);  // the return: 2300 + 100, measured 2600
  const CriticalPath path = critical_path(graph, simulate(graph), 0, rank.steps[0]);
  EXPECT_EQ(unexplained_ns(graph, 0, path, HiddenWaits(graph, rank)), 200);
}

TEST(Residual, TimeWithoutCauseOnAStreamIsUnexplained) {
  TestGraph g(0, 1);
  const uint32_t kernel = g.row(EventKind::kKernel, "orphan", 0, 30, 10);
  const uint32_t gap = g.task(TaskKind::kGap, kNoIndex, 0, 30, {});
  Step step;
  step.last_task = g.task(TaskKind::kKernel, kernel, 30, 10, {edge(gap, EdgeKind::kStream)});
  const ExecGraph graph = g.finish({step});
  const CriticalPath path = critical_path(graph, simulate(graph), 0, step);
  EXPECT_EQ(unexplained_ns(graph, 0, path, HiddenWaits(graph, graph.ranks[0])), 30);
}

TEST(Residual, AGapThatEndsWithWorkElsewhereIsAHiddenWait) {
  TestGraph g(1, 1);
  const uint32_t before = g.row(EventKind::kCpuOp, "before", 0, 0, 1000);
  const uint32_t after = g.row(EventKind::kCpuOp, "after", 0, 501'000, 1000);
  const uint32_t kernel = g.row(EventKind::kKernel, "k", 1, 2000, 498'000);
  uint32_t host = g.task(TaskKind::kHost, before, 0, 1000, {});
  const uint32_t gap = host = g.task(TaskKind::kHost, kNoIndex, 1000, 500'000, {edge(host, EdgeKind::kThread)});
  host = g.task(TaskKind::kHost, after, 501'000, 1000, {edge(host, EdgeKind::kThread)});
  const uint32_t gpu = g.task(TaskKind::kKernel, kernel, 2000, 498'000, {edge(0, EdgeKind::kLaunch, 1000)});
  Step step;
  step.last_task = host;
  ExecGraph graph = g.finish({step});
  EXPECT_EQ(HiddenWaits(graph, graph.ranks[0]).wait_ns(gap), 500'000);
  EXPECT_EQ(
      unexplained_ns(graph, 0, critical_path(graph, simulate(graph), 0, step), HiddenWaits(graph, graph.ranks[0])),
      500'000);
  // Work that ends in the middle of the gap, or a moment after it, is no reason.
  for (int64_t end_ns : {300'000, 502'000}) {
    graph.measured_start_ns[gpu] = end_ns - 1000;
    graph.event[gpu] = kNoIndex;
    graph.duration_ns[gpu] = 1000;
    EXPECT_EQ(HiddenWaits(graph, graph.ranks[0]).wait_ns(gap), 0);
  }
}

}  // namespace
}  // namespace lumos

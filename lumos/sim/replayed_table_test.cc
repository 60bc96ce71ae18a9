#include "lumos/sim/replayed_table.h"

#include <gtest/gtest.h>

#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

TEST(ReplayedTable, EnclosingRowsSpanWhatIsInsideThem) {
  const ExecGraph graph = small_step();
  const EventTable table = replayed_table(graph, simulate(graph), 0);
  ASSERT_EQ(table.size(), 7u);
  EXPECT_EQ(table.name_of(0), "ProfilerStep#1");
  EXPECT_EQ(table.ts_ns[0], 0);
  EXPECT_EQ(table.ts_ns[1], 100);  // aten::mm
  EXPECT_EQ(table.end_ns(1), 500);
  EXPECT_EQ(table.ts_ns[4], 600);  // synchronise: entered at 600, returns 100 after the collective
  EXPECT_EQ(table.end_ns(4), 1400);
  EXPECT_EQ(table.ts_ns[6], 900);
  EXPECT_EQ(table.end_ns(0), 1800);
}

TEST(ReplayedTable, AnEnclosingRowWithoutOwnTimeComesFromItsChildren) {
  TestGraph g(1, 0);
  g.row(EventKind::kCpuOp, "outer", 0, 10, 20);
  const uint32_t inner = g.row(EventKind::kCpuOp, "inner", 0, 10, 20);
  g.task(TaskKind::kHost, inner, 10, 20, {});
  const ExecGraph graph = g.finish({});
  const EventTable table = replayed_table(graph, simulate(graph), 0);
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table.ts_ns[0], 0);
  EXPECT_EQ(table.dur_ns[0], 20);
}

TEST(ReplayedTable, RowsWithoutTasksAreDroppedAndDetailsStay) {
  TestGraph g(2, 1);
  g.row(EventKind::kRuntime, "cudaEventQuery", 1, 0, 5);  // a polling thread: no task
  const uint32_t kernel = g.row(EventKind::kKernel, "k", 2, 40, 7, 3);
  g.table().gpu.resize(1);
  g.table().gpu[0].grid[0] = 128;
  g.table().detail[kernel] = 0;
  g.task(TaskKind::kKernel, kernel, 40, 7, {});
  const ExecGraph graph = g.finish({});
  const EventTable table = replayed_table(graph, simulate(graph), 0);
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table.correlation[0], 3);
  EXPECT_EQ(table.gpu_detail(0)->grid[0], 128);
  EXPECT_EQ(table.ts_ns[0], 0);
}

TEST(ReplayedTable, FlowEndsMoveWithTheirOperator) {
  TestGraph g(1, 0);
  const uint32_t first = g.row(EventKind::kCpuOp, "first", 0, 100, 10);
  const uint32_t second = g.row(EventKind::kCpuOp, "second", 0, 150, 10);
  g.table().fwdbwd = {{1, 152, 0, true}, {2, 90, 0, true}, {3, 120, 0, false}};
  const uint32_t t = g.task(TaskKind::kHost, first, 100, 10, {});
  g.task(TaskKind::kHost, second, 150, 10, {edge(t, EdgeKind::kThread)});
  const ExecGraph graph = g.finish({});
  const EventTable table = replayed_table(graph, simulate(graph), 0);
  ASSERT_EQ(table.fwdbwd.size(), 1u);  // the others start in no operator
  EXPECT_EQ(table.fwdbwd[0].id, 1);
  EXPECT_EQ(table.fwdbwd[0].ts_ns, 12);
}

TEST(ReplayedTable, GpuRowsAloneAreTheSameRows) {
  const ExecGraph graph = small_step();
  const Timeline timeline = simulate(graph);
  const EventTable all = replayed_table(graph, timeline, 0);
  const EventTable gpu = replayed_table(graph, timeline, 0, ReplayedRows::kGpu);
  ASSERT_EQ(gpu.size(), 2u);
  EXPECT_EQ(gpu.ts_ns[0], all.ts_ns[5]);
  EXPECT_EQ(gpu.ts_ns[1], all.ts_ns[6]);
}

TEST(ReplayedTable, NothingGivesNothing) {
  TestGraph g(0, 0);
  const ExecGraph graph = g.finish({});
  EXPECT_EQ(replayed_table(graph, simulate(graph), 0).size(), 0u);
}

}  // namespace
}  // namespace lumos

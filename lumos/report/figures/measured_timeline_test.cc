#include "lumos/report/figures/measured_timeline.h"

#include <gtest/gtest.h>

#include "lumos/report/figures/critical_path.h"
#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

TEST(MeasuredTimeline, BindsToTheDependencyThatWasLastInTheMeasuredRun) {
  const ExecGraph graph = small_step();
  const Timeline timeline = measured_timeline(graph);
  EXPECT_EQ(timeline.start_ns[10], 2600);
  EXPECT_EQ(timeline.end_ns[9], 2300);
  EXPECT_EQ(graph.edges[timeline.binding[9]].kind, EdgeKind::kInterStream);
  EXPECT_EQ(graph.edges[timeline.binding[10]].kind, EdgeKind::kSync);
  EXPECT_EQ(timeline.binding[0], kNoIndex);
}

TEST(MeasuredTimeline, HasACriticalPathOfTheMeasuredStep) {
  const ExecGraph graph = small_step();
  const CriticalPath path = critical_path(graph, measured_timeline(graph), 0, graph.ranks[0].steps[0]);
  EXPECT_EQ(path.window.length_ns(), 2000);
  int64_t sum_ns = 0;
  for (const PathPiece& piece : path.pieces) sum_ns += piece.length_ns();
  EXPECT_EQ(sum_ns, 2000);
}

}  // namespace
}  // namespace lumos

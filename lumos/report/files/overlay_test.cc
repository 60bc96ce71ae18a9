#include "lumos/report/files/overlay.h"

#include <gtest/gtest.h>

#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

TEST(Overlay, MarksThePathAndLeadsAcrossProcessors) {
  const ExecGraph graph = small_step();
  ChromeOptions options;
  add_critical_path(graph, 0, critical_path(graph, simulate(graph), 0, graph.ranks[0].steps[0]), options);
  // All but the second launch, which nothing waited for.
  EXPECT_EQ(options.critical, (std::vector<uint8_t>{1, 1, 1, 0, 1, 1, 1}));
  ASSERT_EQ(options.arrows.size(), 3u);
  EXPECT_EQ(options.arrows[0].from_row, 2u);
  EXPECT_EQ(options.arrows[0].to_row, 5u);
  EXPECT_EQ(options.arrows[0].label, "launch");
  EXPECT_EQ(options.arrows[1].from_ns, 1850);
  EXPECT_EQ(options.arrows[1].to_ns, 1900);
  EXPECT_EQ(options.arrows[2].to_row, 4u);
  EXPECT_EQ(options.arrows[2].to_ns, 2600);
}

TEST(Overlay, CurvesStartAndEndWithTheWindow) {
  const ExecGraph graph = small_step();
  const auto curves = counter_curves(*graph.ranks[0].table, {1000, 3000});
  ASSERT_EQ(curves.size(), 2u);  // no sizes, so no bandwidth
  EXPECT_EQ(curves[0].name, "SM utilisation %");
  ASSERT_EQ(curves[0].points.size(), 2u);
  EXPECT_EQ(curves[0].points[0].ts_ns, 1000);
  EXPECT_DOUBLE_EQ(curves[0].points[0].value, 45);
  EXPECT_EQ(curves[0].points[1].ts_ns, 3000);
}

TEST(Overlay, BandwidthIsBytesOverDuration) {
  TestGraph g(0, 1);
  const uint32_t row = g.row(EventKind::kKernel, "ncclDevKernel_AllReduce", 0, 100, 1000);
  g.table().gpu.resize(1);
  g.table().gpu[0].collective = 0;
  g.table().detail[row] = 0;
  g.table().collectives.resize(1);
  g.table().collectives[0].in_elements = 500;
  g.table().collectives[0].dtype = g.names().intern("BFloat16");
  g.finish({});
  const auto curves = counter_curves(g.table(), {0, 2000});
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_DOUBLE_EQ(curves[2].points[0].value, 1);
  EXPECT_DOUBLE_EQ(curves[2].points[1].value, 0);
}

}  // namespace
}  // namespace lumos

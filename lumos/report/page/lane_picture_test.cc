#include "lumos/report/page/lane_picture.h"

#include <gtest/gtest.h>

#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

/// `count` kernels of 10 ns with 1 ns between them, then one of 5000 ns.
ExecGraph many_kernels(uint32_t count) {
  TestGraph g(1, 1);
  const uint32_t op = g.row(EventKind::kCpuOp, "op", 0, 0, 10);
  const uint32_t host = g.task(TaskKind::kHost, op, 0, 10, {});
  uint32_t last = host;
  for (uint32_t i = 0; i <= count; ++i) {
    const int64_t length_ns = i == count ? 5000 : 10;
    const uint32_t row = g.row(EventKind::kKernel, "void small<int>(int)", 1, 20 + 11 * i, length_ns);
    last = g.task(TaskKind::kKernel, row, 20 + 11 * i, length_ns,
                  {edge(last, last == host ? EdgeKind::kLaunch : EdgeKind::kStream, last == host ? 10 : 1)});
  }
  Step step;
  step.name = "ProfilerStep#1";
  step.first_task = host;
  step.last_task = host;
  step.last_gpu_tasks = {last};
  return g.finish({step});
}

TEST(LanePicture, ShowsEveryTaskWhereThereIsRoom) {
  const ExecGraph graph = many_kernels(3);
  const LanePicture picture = lane_picture(graph, simulate(graph), {0}, {}, 100);
  EXPECT_EQ(picture.resolution_ns, 0);
  ASSERT_EQ(picture.lanes.size(), 1u);
  EXPECT_EQ(picture.lanes[0].label, "stream 7");
  ASSERT_EQ(picture.lanes[0].boxes.size(), 4u);
  const LaneBox& first = picture.lanes[0].boxes[0];
  EXPECT_EQ(first.start_ns, 20);
  EXPECT_EQ(first.length_ns, 10);
  EXPECT_EQ(picture.texts[first.name], "small");
  EXPECT_EQ(picture.texts[first.wait], "its launch, op on thread 100");
  EXPECT_EQ(picture.texts[picture.lanes[0].boxes[1].wait], "the task before it on the stream, small");
}

TEST(LanePicture, JoinsShortNeighboursUntilThereAreFewEnough) {
  const ExecGraph graph = many_kernels(500);
  const LanePicture picture = lane_picture(graph, simulate(graph), {0}, {}, 10);
  ASSERT_EQ(picture.lanes.size(), 1u);
  const std::vector<LaneBox>& boxes = picture.lanes[0].boxes;
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0].merged, 500u);
  EXPECT_EQ(boxes[0].length_ns, 500 * 11 - 1);
  EXPECT_EQ(boxes[1].length_ns, 5000);
  EXPECT_EQ(boxes[1].merged, 1u);
}

TEST(LanePicture, WritesBoxesOneBehindTheOther) {
  const ExecGraph graph = many_kernels(1);
  const LanePicture picture = lane_picture(graph, simulate(graph), {0}, {}, 100);
  EXPECT_NE(lane_json(picture).find("\"boxes\":[20,10,0,0,1,1,1,5000,0,0,2,1]"), std::string::npos)
      << lane_json(picture);
  EXPECT_NE(lane_html(picture).find("<path class=\"compute\""), std::string::npos);
}

TEST(LanePicture, PutsTheScheduleAboveTheStreams) {
  const ExecGraph graph = many_kernels(1);
  const LanePicture picture =
      lane_picture(graph, simulate(graph), {0}, {{{20, 41, PassKind::kForward, "forward of micro-batch 0"}}}, 100);
  ASSERT_EQ(picture.lanes.size(), 2u);
  EXPECT_EQ(picture.lanes[0].label, "schedule");
  ASSERT_EQ(picture.lanes[0].boxes.size(), 1u);
  EXPECT_EQ(picture.lanes[0].boxes[0].length_ns, 21);
  EXPECT_EQ(picture.texts[picture.lanes[0].boxes[0].name], "forward of micro-batch 0");
  EXPECT_NE(lane_html(picture).find("<path class=\"forward\""), std::string::npos);
}

TEST(ScheduleLane, JoinsTheKernelsOfAPass) {
  const ExecGraph graph = many_kernels(3);
  RecoveredRank recovered;
  recovered.microbatches = 2;
  recovered.list.launch_of_row = {kNoIndex, 0, 0, 1, 2};
  recovered.labels.resize(3);
  recovered.labels[0] = {Phase::kForward, 0, 0, 0, -1};
  recovered.labels[1] = {Phase::kForward, 0, 1, 0, -1};
  recovered.labels[2] = {Phase::kBackward, 0, 0, 0, -1};
  const std::vector<PassBox> boxes = schedule_boxes(graph, simulate(graph), 0, {0, 1000}, recovered);
  ASSERT_EQ(boxes.size(), 3u);
  EXPECT_EQ(boxes[0].name, "forward of micro-batch 0");
  EXPECT_EQ(boxes[0].end_ns - boxes[0].start_ns, 21);
  EXPECT_EQ(boxes[2].name, "backward of micro-batch 0");
  EXPECT_EQ(boxes[2].end_ns, 1000);  // cut at the window's end
}

TEST(LanePicture, OfNoStepIsEmpty) {
  const ExecGraph graph = many_kernels(1);
  const LanePicture picture = lane_picture(graph, simulate(graph), {kNoIndex}, {}, 100);
  EXPECT_TRUE(picture.lanes.empty());
  EXPECT_EQ(picture.length_ns, 0);
}

}  // namespace
}  // namespace lumos

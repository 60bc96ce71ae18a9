#include "lumos/program/blocks/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace lumos {
namespace {

std::string drawn(ScheduleShape shape) {
  auto schedule = make_schedule(shape);
  return schedule ? draw_schedule(shape, *schedule) : schedule.error().message;
}

TEST(Schedule, OneForwardOneBackwardKeepsAsManyForwardsAheadAsStagesFollow) {
  EXPECT_EQ(drawn({ScheduleKind::kOneForwardOneBackward, 3, 1, 4}),
            "F0F1F2....B0F3B1..B2..B3\n"
            "..F0F1..B0F2B1F3B2..B3\n"
            "....F0B0F1B1F2B2F3B3\n");
}

TEST(Schedule, GpipeRunsAllForwardsFirst) {
  EXPECT_EQ(drawn({ScheduleKind::kGpipe, 2, 1, 3}),
            "F0F1F2....B0B1B2\n"
            "..F0F1F2B0B1B2\n");
}

TEST(Schedule, WithoutPipelineEachMicrobatchGoesForthAndBack) {
  EXPECT_EQ(drawn({ScheduleKind::kOneForwardOneBackward, 1, 1, 2}), "F0B0F1B1\n");
}

TEST(Schedule, InterleavedGoesThroughTheChunksInGroupsOfStages) {
  const std::string text = drawn({ScheduleKind::kInterleaved, 2, 2, 2});
  EXPECT_EQ(text.substr(0, 12), "F0aF1aF0bF1b");
}

TEST(Schedule, RefusesWhatCannotBeInterleaved) {
  EXPECT_FALSE(make_schedule({ScheduleKind::kInterleaved, 4, 2, 6}));
  EXPECT_FALSE(make_schedule({ScheduleKind::kOneForwardOneBackward, 4, 2, 8}));
}

TEST(Schedule, WhatCannotBeNumberedIsRefused) {
  ScheduleShape shape;
  shape.stages = 2;
  shape.microbatches = kMostMicrobatches;
  EXPECT_TRUE(make_schedule(shape));
  shape.microbatches = kMostMicrobatches + 1;
  const auto refused = make_schedule(shape);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("32768 micro-batches"), std::string::npos) << refused.error().message;
}

RC_GTEST_PROP(Schedule, EveryTensorIsSentOnceAndReceivedOnceByItsNeighbour, ()) {
  ScheduleShape shape;
  shape.stages = *rc::gen::inRange(1, 6);
  shape.chunks = shape.stages > 1 ? *rc::gen::inRange(1, 4) : 1;
  shape.kind = shape.chunks > 1 ? ScheduleKind::kInterleaved
                                : *rc::gen::element(ScheduleKind::kGpipe, ScheduleKind::kOneForwardOneBackward);
  shape.microbatches = shape.stages * *rc::gen::inRange(1, 4);
  const auto schedule = make_schedule(shape);
  RC_ASSERT(schedule.has_value());
  std::vector<std::pair<int, Tensor>> sent, received;
  for (int s = 0; s < shape.stages; ++s) {
    int forwards = 0, backwards = 0;
    for (const Action& action : (*schedule)[s]) {
      forwards += action.kind == ActionKind::kForward;
      backwards += action.kind == ActionKind::kBackward;
      for (const Tensor& t : action.sends)
        sent.emplace_back((s + (t.backward ? shape.stages - 1 : 1)) % shape.stages, t);
      for (const Tensor& t : action.receives) received.emplace_back(s, t);
    }
    RC_ASSERT(forwards == shape.microbatches * shape.chunks);
    RC_ASSERT(backwards == shape.microbatches * shape.chunks);
  }
  RC_ASSERT(sent.size() == size_t(2 * shape.microbatches * (shape.stages * shape.chunks - 1)));
  RC_ASSERT(received.size() == sent.size());
  for (const auto& item : sent) RC_ASSERT(std::count(received.begin(), received.end(), item) == 1);
}

}  // namespace
}  // namespace lumos

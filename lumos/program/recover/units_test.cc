#include "lumos/program/recover/units.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumos/program/test_program.h"

namespace lumos {
namespace {

TestTraceShape sharded_shape() {
  TestTraceShape shape;
  shape.sharded = true;
  shape.microbatches = 2;
  return shape;
}

std::vector<Label> labels_of(const EventTable& table, const RecoveredRank& rank, std::string_view kernel) {
  std::vector<Label> labels;
  for (size_t i = 0; i < rank.labels.size(); ++i)
    if (table.name_of(rank.list.launches[i].gpu_row) == kernel) labels.push_back(rank.labels[i]);
  return labels;
}

int count(const std::vector<Label>& labels, Phase phase, int layer) {
  return static_cast<int>(std::count_if(labels.begin(), labels.end(), [&](const Label& label) {
    return label.phase == phase && label.layer == layer && label.microbatch == 0 && label.step == 0;
  }));
}

TEST(Units, EveryKernelBelongsToTheLayerOfItsUnit) {
  const auto table = TestTrace(sharded_shape()).table();
  const RecoveredRank rank = recover(*table, {});
  EXPECT_EQ(rank.microbatches, 2);
  EXPECT_EQ(rank.layers_per_chunk, 4);
  EXPECT_EQ(rank.unplaced, 0u);
  for (int layer = 0; layer < 4; ++layer) {
    for (std::string_view kernel : {"copy_out", "ncclDevKernel_AllGather_RING_LL"}) {
      EXPECT_EQ(count(labels_of(*table, rank, kernel), Phase::kForward, layer), 1) << kernel << layer;
      EXPECT_EQ(count(labels_of(*table, rank, kernel), Phase::kBackward, layer), 1) << kernel << layer;
    }
    EXPECT_EQ(count(labels_of(*table, rank, "copy_in"), Phase::kBackward, layer), 2) << layer;
    EXPECT_EQ(count(labels_of(*table, rank, "chunk_cat"), Phase::kBackward, layer), 1) << layer;
    EXPECT_EQ(count(labels_of(*table, rank, "attend_bwd"), Phase::kBackward, layer), 1) << layer;
  }
  EXPECT_EQ(count(labels_of(*table, rank, "copy_out"), Phase::kForward, -1), 1);
  EXPECT_EQ(count(labels_of(*table, rank, "copy_out"), Phase::kBackward, -1), 0);
  EXPECT_EQ(count(labels_of(*table, rank, "chunk_cat"), Phase::kBackward, -1), 1);
  for (const Label& label : labels_of(*table, rank, "adam")) EXPECT_EQ(label.phase, Phase::kOptimizer);
}

TEST(Units, GathersAreThoseOfTheirCopyOuts) {
  const auto table = TestTrace(sharded_shape()).table();
  const RecoveredRank rank = recover(*table, {});
  const UnitRuns units = find_units(rank.list);
  ASSERT_EQ(units.gathers.size(), size_t{2 * 2 * (1 + 4 + 4)});
  ASSERT_EQ(units.reduces.size(), size_t{2 * 2 * (4 + 1)});
  for (size_t i = 0; i < 9; ++i) {
    const UnitGather& gather = units.gathers[i];
    EXPECT_EQ(gather.gather, gather.begin + 2) << i;
    EXPECT_EQ(gather.prefetched, i > 5) << i;  // in the backward, but for the last layer of this small model
    ASSERT_NE(gather.copy_out, kNoIndex);
    EXPECT_EQ(rank.labels[gather.gather].layer, rank.labels[gather.copy_out].layer) << i;
  }
}

TEST(Units, WhatACheckpointRunsAgainInANodeIsRecomputed) {
  TestTraceShape shape = sharded_shape();
  shape.recompute = true;
  const auto table = TestTrace(shape).table();
  const RecoveredRank rank = recover(*table, {});
  for (int layer = 0; layer < 4; ++layer) {
    EXPECT_EQ(count(labels_of(*table, rank, "attend"), Phase::kForward, layer), 1) << layer;
    EXPECT_EQ(count(labels_of(*table, rank, "attend"), Phase::kRecompute, layer), 1) << layer;
    EXPECT_EQ(count(labels_of(*table, rank, "attend_bwd"), Phase::kBackward, layer), 1) << layer;
  }
}

TEST(Units, ADenseJobHasNone) {
  const auto table = TestTrace({}).table();
  EXPECT_TRUE(find_units(recover(*table, {}).list).gathers.empty());
}

}  // namespace
}  // namespace lumos

#include "lumos/program/recover/recover.h"

#include <gtest/gtest.h>

#include <map>

#include "lumos/program/test_program.h"

namespace lumos {
namespace {

/// Labels of the kernels with this name, in launch order.
std::vector<Label> labels_of(const EventTable& table, const RecoveredRank& rank, std::string_view kernel) {
  std::vector<Label> labels;
  for (size_t i = 0; i < rank.labels.size(); ++i)
    if (table.name_of(rank.list.launches[i].gpu_row) == kernel) labels.push_back(rank.labels[i]);
  return labels;
}

void expect_whole_program(const TestTraceShape& shape) {
  const auto table = TestTrace(shape).table();
  const RecoveredRank rank = recover(*table, {});
  EXPECT_EQ(rank.microbatches, shape.microbatches);
  EXPECT_EQ(rank.layers_per_chunk, shape.layers);
  EXPECT_EQ(rank.unplaced, 0u);
  const auto forward = labels_of(*table, rank, "attend");
  const auto backward = labels_of(*table, rank, "attend_bwd");
  ASSERT_EQ(forward.size(), size_t(shape.steps * shape.microbatches * shape.layers));
  ASSERT_EQ(backward.size(), forward.size());
  for (int i = 0; i < static_cast<int>(forward.size()); ++i) {
    const int layer = i % shape.layers, microbatch = i / shape.layers % shape.microbatches;
    EXPECT_EQ(forward[i].phase, Phase::kForward);
    EXPECT_EQ(forward[i].layer, layer);
    EXPECT_EQ(forward[i].microbatch, microbatch);
    EXPECT_EQ(backward[i].phase, Phase::kBackward);
    EXPECT_EQ(backward[i].layer, shape.layers - 1 - layer);
    EXPECT_EQ(backward[i].microbatch, microbatch);
  }
  for (const Label& label : labels_of(*table, rank, "embedding")) EXPECT_EQ(label.layer, -1);
  for (const Label& label : labels_of(*table, rank, "loss_bwd")) EXPECT_EQ(label.layer, -1);
  for (const Label& label : labels_of(*table, rank, "adam")) EXPECT_EQ(label.phase, Phase::kOptimizer);
}

TEST(Recover, PlacesEveryKernelOfATrainingStep) { expect_whole_program({}); }

TEST(Recover, NeedsNoAnnotations) {
  TestTraceShape shape;
  shape.annotations = false;
  expect_whole_program(shape);
}

TEST(Recover, NeedsNoSequenceNumbers) {
  TestTraceShape shape;
  shape.sequence_numbers = false;
  expect_whole_program(shape);
}

TEST(Recover, OneMicrobatchIsEnough) {
  TestTraceShape shape;
  shape.microbatches = 1;
  expect_whole_program(shape);
}

TEST(Recover, TellsWhatIsComputedAgainFromItsBackward) {
  TestTraceShape shape;
  shape.recompute = true;
  const auto table = TestTrace(shape).table();
  const RecoveredRank rank = recover(*table, {});
  EXPECT_EQ(rank.layers_per_chunk, shape.layers);
  EXPECT_EQ(rank.microbatches, shape.microbatches);
  // Each attention kernel runs in its forward, and again before its backward.
  const auto attend = labels_of(*table, rank, "attend");
  const auto backward = labels_of(*table, rank, "attend_bwd");
  const int layers = shape.layers;
  ASSERT_EQ(attend.size(), size_t(2 * shape.steps * shape.microbatches * layers));
  ASSERT_EQ(backward.size(), attend.size() / 2);
  for (int i = 0; i < static_cast<int>(backward.size()); ++i) {
    const int microbatch = i / layers % shape.microbatches, layer = layers - 1 - i % layers;
    const Label& again = attend[static_cast<size_t>(2 * (i / layers) * layers + layers + i % layers)];
    EXPECT_EQ(again.phase, Phase::kRecompute);
    EXPECT_EQ(again.layer, layer);
    EXPECT_EQ(again.microbatch, microbatch);
    EXPECT_EQ(backward[i].phase, Phase::kBackward);
    EXPECT_EQ(backward[i].layer, layer);
    EXPECT_EQ(backward[i].microbatch, microbatch);
  }
}

TEST(Recover, NumbersLayersOverTheWholeModel) {
  const auto table = TestTrace({}).table();
  RecoverHints hints;
  hints.stages = 3;
  hints.stage = 2;
  hints.num_layers = 12;
  const RecoveredRank rank = recover(*table, hints);
  EXPECT_EQ(labels_of(*table, rank, "attend").front().layer, 8);
}

TEST(Recover, AnEmptyTraceHasNoProgram) {
  EventTable table;
  table.names = std::make_shared<NamePool>();
  const RecoveredRank rank = recover(table, {});
  EXPECT_TRUE(rank.labels.empty());
  EXPECT_TRUE(rank.passes.empty());
}

}  // namespace
}  // namespace lumos

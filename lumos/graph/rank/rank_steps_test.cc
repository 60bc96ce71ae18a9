#include "lumos/graph/rank/rank_steps.h"

#include <gtest/gtest.h>

#include "lumos/graph/test_programs.h"

namespace lumos {
namespace {

std::vector<StepRows> steps_of(TestTable& t) {
  const TestPrograms p(t);
  return find_steps(rank_programs(p));
}

// Steps of `lengths`, each with one operator inside.
void add_steps(TestTable& t, uint32_t thread, const std::vector<int64_t>& lengths) {
  int64_t at = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    t.step(thread, static_cast<int>(i) + 10, at, lengths[i]);
    t.op(thread, "op", at + lengths[i] / 4, lengths[i] / 4);
    at += lengths[i] + 100;
  }
}

TEST(RankSteps, AStepLastsUntilTheNextOneBegins) {
  TestTable t;
  const uint32_t main = t.thread();
  add_steps(t, main, {1000, 1000});
  const std::vector<StepRows> steps = steps_of(t);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].name, "ProfilerStep#10");
  EXPECT_TRUE(steps[0].followed);
  EXPECT_EQ(steps[0].end_ns, 1100);
  EXPECT_FALSE(steps[1].followed);
  EXPECT_EQ(steps[1].end_ns, 2100);
  EXPECT_TRUE(steps[0].chosen && steps[1].chosen);
}

TEST(RankSteps, OfMarksInsideEachOtherTheOuterOneCounts) {
  TestTable t;
  const uint32_t main = t.thread();
  for (int i = 0; i < 2; ++i) {
    t.step(main, i, 1000 * i, 900);
    t.step(main, i, 1000 * i + 50, 800);
    t.op(main, "op", 1000 * i + 100, 100);
  }
  EXPECT_EQ(steps_of(t).size(), 2u);
}

// The steps of a rank are the same whether another rank is in the file or not, however it lies in time.
TEST(RankSteps, AnotherRankInTheFileLeavesTheStepsAsTheyAre) {
  const auto add_rank = [](TestTable& t, int64_t rank, int64_t lag, int steps) {
    const uint32_t thread = t.thread(100, 100 + rank), stream = t.stream(7, rank);
    for (int s = 0; s < steps; ++s) {
      const int64_t at = 5000 + lag + 20'000 * s;
      t.step(thread, s, at, 19'000);
      t.launch(thread, at + 1000, stream, "k", at + 10'000, 12'000);  // ends in the next step
    }
  };
  TestTable alone;
  add_rank(alone, 0, 0, 4);
  const std::vector<StepRows> expected = steps_of(alone);
  for (int64_t lag : {100, 7000, 10'000, 19'500}) {
    TestTable both;
    add_rank(both, 0, 0, 4);
    add_rank(both, 1, lag, 3);
    const std::vector<StepRows> steps = steps_of(both);
    ASSERT_EQ(steps.size(), 5u) << lag;
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(steps[i].name, expected[i].name);
      EXPECT_EQ(steps[i].start_ns, expected[i].start_ns);
      EXPECT_EQ(steps[i].end_ns, expected[i].end_ns);
      EXPECT_EQ(steps[i].followed, expected[i].followed);
      EXPECT_EQ(steps[i].last_works.size(), expected[i].last_works.size()) << lag;
      EXPECT_EQ(steps[i].chosen, expected[i].chosen);
    }
    EXPECT_FALSE(steps[4].chosen);
    EXPECT_NE(steps[4].left_out_reason.find("several ranks in one file"), std::string::npos);
  }
}

TEST(RankSteps, AStepMuchLongerThanTheOthersIsLeftOutAndSaysWhy) {
  TestTable t;
  const uint32_t main = t.thread();
  add_steps(t, main, {1000, 1100, 900, 9000, 1000});
  const std::vector<StepRows> steps = steps_of(t);
  ASSERT_EQ(steps.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(steps[i].chosen, i != 3) << i;
  EXPECT_FALSE(steps[3].left_out_reason.empty());
}

TEST(RankSteps, OfTwoUnequalStepsNeitherIsOdd) {
  TestTable t;
  const uint32_t main = t.thread();
  add_steps(t, main, {1000, 9000});
  for (const StepRows& step : steps_of(t)) EXPECT_TRUE(step.chosen);
}

TEST(RankSteps, TheFirstStepIsLeftOutWhenItBeganBeforeTheRecording) {
  TestTable t;
  const uint32_t main = t.thread(), stream = t.stream(7);
  add_steps(t, main, {10'000, 10'000});
  t.row(EventKind::kKernel, "from before", stream, 500, 100, 77);
  const std::vector<StepRows> steps = steps_of(t);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_FALSE(steps[0].chosen);
  EXPECT_FALSE(steps[0].left_out_reason.empty());
  EXPECT_TRUE(steps[1].chosen);
}

TEST(RankSteps, TheOnlyStepIsChosenEvenIfItBeganBeforeTheRecording) {
  TestTable t;
  const uint32_t main = t.thread(), stream = t.stream(7);
  add_steps(t, main, {10'000});
  t.row(EventKind::kKernel, "from before", stream, 500, 100, 77);
  const std::vector<StepRows> steps = steps_of(t);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_TRUE(steps[0].chosen);
}

TEST(RankSteps, TheLastWorkOnEachStreamBelongsToTheStepThatLaunchedIt) {
  TestTable t;
  const uint32_t main = t.thread(), s7 = t.stream(7), s8 = t.stream(8);
  t.step(main, 0, 0, 100'000);
  t.step(main, 1, 100'000, 100'000);
  t.launch(main, 10'000, s7, "a", 20'000, 1000);
  const auto b = t.launch(main, 20'000, s7, "b", 150'000, 1000);  // runs within the next step
  const auto c = t.launch(main, 30'000, s8, "c", 40'000, 1000);
  const auto d = t.launch(main, 130'000, s7, "d", 160'000, 1000);
  const TestPrograms p(t);
  const std::vector<StepRows> steps = find_steps(rank_programs(p));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].last_works, (std::vector<uint32_t>{p.work_of(b.work), p.work_of(c.work)}));
  EXPECT_EQ(steps[1].last_works, std::vector<uint32_t>{p.work_of(d.work)});
}

TEST(RankSteps, WithoutMarksThereAreNone) {
  TestTable t;
  t.op(t.thread(), "op", 0, 10);
  EXPECT_TRUE(steps_of(t).empty());
}

}  // namespace
}  // namespace lumos

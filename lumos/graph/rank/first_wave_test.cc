#include "lumos/graph/rank/first_wave.h"

#include <gtest/gtest.h>

#include <set>

#include "lumos/graph/test_programs.h"

namespace lumos {
namespace {

// A layer: `a` on the compute stream, then `b` on it, and a collective that waits for `a`: ready while `b` is filling
// the GPU, it begins after `held(i)` of b's duration.
template <class Held>
TestPrograms layers(int count, Held held) {
  TestTable t;
  const uint32_t main = t.thread(), compute = t.stream(7), comm = t.stream(20);
  int64_t at = 0;
  for (int i = 0; i < count; ++i) {
    const int64_t length = 200'000 + 10'000 * (i % 5);
    t.op(main, "aten::mm", at, 3000);
    const int64_t a = at + 40'000;
    t.launch(main, at + 500, compute, "a", a, 100'000);
    t.op(main, "c10d::allreduce_", at + 4000, 8000);
    t.call(main, "cudaEventRecord", at + 5000, 500);
    t.call(main, "cudaStreamWaitEvent", at + 6000, 500);
    const int64_t b = a + 101'000;
    const int64_t start = std::max(a + 101'500, b + static_cast<int64_t>(held(i) * static_cast<double>(length)));
    t.launch(main, at + 7000, comm, kNcclKernel, start, 50'000);
    t.op(main, "aten::mm", at + 13'000, 3000);
    t.launch(main, at + 14'000, compute, "b", b, length);
    at += 500'000;
  }
  return TestPrograms(t);
}

TEST(FirstWave, ACollectiveIsHeldForTheSamePartOfTheKernelThatFillsTheGpu) {
  const TestPrograms p = layers(12, [](int) { return 0.4; });
  const RankPrograms programs = rank_programs(p);
  const FirstWaves found = find_first_waves(programs);
  EXPECT_EQ(found.samples, 12u);
  EXPECT_NEAR(found.share, 0.4, 0.01);
  ASSERT_EQ(found.waits.size(), 12u);
  for (const FirstWave& wave : found.waits) {
    const GpuWork& running = p.gpu.work[wave.running];
    EXPECT_EQ(p.table->name_of(running.row), "b");
    EXPECT_TRUE(p.gpu.work[wave.waiting].communication);
    EXPECT_NEAR(static_cast<double>(wave.lag_ns), 0.4 * static_cast<double>(running.end_ns - running.start_ns), 2000);
  }
}

TEST(FirstWave, CollectivesHeldForAnyPartShowNoLaw) {
  const double parts[] = {0.05, 0.9, 0.1, 0.8, 0.4, 0.02, 0.7, 0.2};
  const TestPrograms p = layers(16, [&](int i) { return parts[i % 8]; });
  EXPECT_TRUE(find_first_waves(rank_programs(p)).waits.empty());
}

TEST(FirstWave, AFewCasesShowNoLaw) {
  const TestPrograms p = layers(4, [](int) { return 0.4; });
  EXPECT_TRUE(find_first_waves(rank_programs(p)).waits.empty());
}

// A kernel on its own stream that is launched while a long one runs, and begins when 90 % of that is over.
TestPrograms drains(int count, double (*part)(int)) {
  TestTable t;
  const uint32_t main = t.thread(), s7 = t.stream(7), s8 = t.stream(8);
  for (int i = 0; i < count; ++i) {
    const int64_t at = 1'000'000 * i, length = 500'000 + 20'000 * (i % 3);
    t.launch(main, at, s7, "long", at + 5000, length);
    const auto held = static_cast<int64_t>(part(i) * static_cast<double>(length));
    t.launch(main, at + 2000, s8, "short", at + 5000 + held, 10'000);
  }
  return TestPrograms(t);
}

TEST(Drains, PairsThatAreAlwaysHeldToTheSamePartAreBelieved) {
  const TestPrograms p = drains(5, [](int) { return 0.9; });
  const std::vector<FirstWave> found = find_drains(rank_programs(p));
  ASSERT_EQ(found.size(), 5u);
  for (const FirstWave& wave : found) {
    const GpuWork& running = p.gpu.work[wave.running];
    EXPECT_EQ(p.table->name_of(running.row), "long");
    EXPECT_NEAR(static_cast<double>(wave.lag_ns), 0.9 * static_cast<double>(running.end_ns - running.start_ns), 1000);
  }
}

TEST(Drains, PairsThatDisagreeOrAreRareAreNot) {
  EXPECT_TRUE(find_drains(rank_programs(drains(5, [](int i) { return 0.3 + 0.15 * i; }))).empty());
  EXPECT_TRUE(find_drains(rank_programs(drains(2, [](int) { return 0.9; }))).empty());
}

TEST(Drains, KernelsThatRunBesideEachOtherAreNotHeld) {
  EXPECT_TRUE(find_drains(rank_programs(drains(5, [](int) { return 0.01; }))).empty());
}

}  // namespace
}  // namespace lumos

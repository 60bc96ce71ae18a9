#include "lumos/report/figures/utilisation.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <numeric>

#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

TEST(Utilisation, OverlappingStreamsCountOnce) {
  const std::vector<BusyInterval> intervals = {{0, 50, false, 0.5f}, {25, 75, true, 0.75f}, {150, 160, false, 1}};
  const Utilisation curves = utilisation(intervals, {0, 150 + 50}, 100);
  ASSERT_EQ(curves.busy.size(), 2u);
  EXPECT_DOUBLE_EQ(curves.busy[0], 0.75);
  EXPECT_DOUBLE_EQ(curves.busy[1], 0.1);
  EXPECT_DOUBLE_EQ(curves.weighted[0], (25 * 0.5 + 25 * 1.0 + 25 * 0.75) / 100);
}

TEST(Utilisation, TheLastIntervalEndsWithTheWindow) {
  const Utilisation curves = utilisation(std::vector<BusyInterval>{{0, 120, false, 1}}, {0, 110}, 100);
  EXPECT_EQ(curves.busy, (std::vector<double>{1, 1}));
  EXPECT_TRUE(utilisation({}, {7, 7}, 100).busy.empty());
}

TEST(Utilisation, BusyTimeIsTheUnionAndWeightedIsNeverMore) {
  EXPECT_TRUE(rc::check([] {
    std::vector<BusyInterval> intervals;
    std::vector<bool> busy(200, false);
    int64_t start = 0;
    for (int gap : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 9))) {
      start += gap;
      const int64_t length = *rc::gen::inRange<int64_t>(1, 20);
      if (start + length > 200) break;
      intervals.push_back({start, start + length, false, static_cast<float>(gap) / 9});
      for (int64_t ns = start; ns < start + length; ++ns) busy[ns] = true;
    }
    const Utilisation curves = utilisation(intervals, {0, 200}, 30);
    double sum = 0;
    for (size_t i = 0; i < curves.busy.size(); ++i) {
      sum += curves.busy[i] * (i + 1 == curves.busy.size() ? 20 : 30);
      RC_ASSERT(curves.weighted[i] <= curves.busy[i]);
    }
    const auto expected = std::count(busy.begin(), busy.end(), true);
    RC_ASSERT(std::abs(sum - static_cast<double>(expected)) < 1e-6);
  }));
}

TEST(Utilisation, CurvesStaySmallHoweverLongTheStepAndSumToTheSameTime) {
  for (int64_t length_ns = 1; length_ns > 0; length_ns = length_ns > INT64_MAX / 7 ? 0 : length_ns * 7) {
    const int64_t interval_ns = utilisation_interval_ns(length_ns);
    EXPECT_EQ(interval_ns % kUtilisationIntervalNs, 0);
    if (length_ns <= 1000 * kUtilisationIntervalNs) {
      EXPECT_EQ(interval_ns, kUtilisationIntervalNs);
    }
    EXPECT_LE((length_ns - 1) / interval_ns + 1, kMostUtilisationIntervals);
  }
  const int64_t year_ns = int64_t{365} * 86'400 * 1'000'000'000;
  const std::vector<BusyInterval> intervals = {{0, year_ns / 2, false, 1}};
  const Utilisation curves = utilisation(intervals, {0, year_ns}, utilisation_interval_ns(year_ns));
  ASSERT_LE(curves.busy.size(), static_cast<size_t>(kMostUtilisationIntervals) + 1);
  const double sum = std::accumulate(curves.busy.begin(), curves.busy.end(), 0.0);
  EXPECT_NEAR(sum * static_cast<double>(curves.interval_ns), static_cast<double>(year_ns) / 2, 1e-6 * year_ns);
}

TEST(Utilisation, CurvesOfDifferentLengthAreComparedToTheEnd) {
  EXPECT_DOUBLE_EQ(mean_absolute_difference({1, 0.5}, {0.5, 0.5, 0.25}), 0.25);
  EXPECT_DOUBLE_EQ(mean_absolute_difference({}, {}), 0);
}

TEST(SmShare, IsTheGridAgainstWhatTheSmsHold) {
  TestGraph g(0, 1);
  const uint32_t row = g.row(EventKind::kKernel, "k", 0, 0, 10);
  EXPECT_FLOAT_EQ(sm_share(g.table(), row), 1);  // nothing known: all of it
  g.table().gpu.resize(1);
  g.table().detail[row] = 0;
  DeviceProperties device;
  device.num_sms = 100;
  device.max_threads_per_sm = 2048;
  device.registers_per_sm = 65536;
  device.shared_memory_per_sm_bytes = 160 * 1024;
  g.table().info.devices = {device};
  GpuDetail& kernel = g.table().gpu[0];
  kernel.grid[0] = 50, kernel.grid[1] = kernel.grid[2] = 1;
  kernel.block[0] = 1024, kernel.block[1] = kernel.block[2] = 1;
  EXPECT_FLOAT_EQ(sm_share(g.table(), row), 0.25f);  // two blocks an SM by threads
  kernel.registers_per_thread = 64;
  EXPECT_FLOAT_EQ(sm_share(g.table(), row), 0.5f);  // one by registers
  kernel.grid[0] = 1000;
  EXPECT_FLOAT_EQ(sm_share(g.table(), row), 1);
}

}  // namespace
}  // namespace lumos

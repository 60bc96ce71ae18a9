#include "lumos/report/figures/odd_times.h"

#include <gtest/gtest.h>

#include "lumos/report/results/advice.h"

namespace lumos {
namespace {

constexpr int64_t kUs = 1'000;

/// Calls on lane 0, each with one kernel on lane 1 that begins later and ends before the next.
EventTable healthy(int kernels) {
  EventTable table;
  auto names = std::make_shared<NamePool>();
  table.lanes.resize(2);
  table.lanes[1].is_gpu = true;
  const auto add = [&](EventKind kind, uint32_t lane, const char* name, int64_t at_us, int64_t length_us, int id) {
    table.ts_ns.push_back(at_us * kUs);
    table.dur_ns.push_back(length_us * kUs);
    table.name.push_back(names->intern(name));
    table.lane.push_back(lane);
    table.kind.push_back(kind);
    table.correlation.push_back(id);
    table.external_id.push_back(0);
    table.detail.push_back(kNoIndex);
  };
  for (int i = 0; i < kernels; ++i) {
    add(EventKind::kRuntime, 0, "cudaLaunchKernel", 100 * i, 5, i + 1);
    add(EventKind::kKernel, 1, "k", 100 * i + 20, 70, i + 1);
  }
  table.names = names;
  return table;
}

bool advised(const EventTable& table, const std::string& words) {
  for (const Advice& advice : advice_for(take_inventory(table)))
    if (advice.finding.find(words) != std::string::npos) return true;
  return false;
}

TEST(OddTimes, AreNoneInAHealthyTrace) {
  const OddTimes odd = odd_times(healthy(50));
  EXPECT_EQ(odd.repeated_calls + odd.overlapping_work + odd.before_launch + odd.without_duration, 0u);
  EXPECT_EQ(odd.calls, 50u);
  EXPECT_EQ(odd.work, 50u);
  EXPECT_FALSE(advised(healthy(50), " of 50 "));
}

TEST(OddTimes, CountWhatContradicts) {
  EventTable repeated = healthy(50), overlapping = healthy(50), early = healthy(50), empty = healthy(50);
  for (size_t row = 0; row < repeated.size(); ++row) {
    repeated.correlation[row] = 7;
    if (!is_gpu_work(repeated.kind[row])) continue;
    if (row % 4 == 1) overlapping.dur_ns[row] = 190 * kUs;  // the next one runs from 100 to 170 us after its start
    early.ts_ns[row] -= 30 * kUs;
    empty.dur_ns[row] = 0;
  }
  EXPECT_EQ(odd_times(repeated).repeated_calls, 50u);
  EXPECT_EQ(odd_times(overlapping).overlapping_work, 25u);
  EXPECT_EQ(odd_times(early).before_launch, 50u);
  EXPECT_EQ(odd_times(empty).without_duration, 50u);
  EXPECT_TRUE(advised(repeated, "50 of 50 runtime calls share"));
  EXPECT_TRUE(advised(overlapping, "25 of 50 GPU rows lie wholly within"));
  EXPECT_TRUE(advised(early, "50 of 50 GPU rows begin before the call"));
  EXPECT_TRUE(advised(empty, "50 of 50 GPU rows take no time"));
}

TEST(OddTimes, DependentLaunchesMayBeginEarly) {
  EventTable table = healthy(50);
  for (size_t row = 0; row < table.size(); ++row)
    if (is_gpu_work(table.kind[row])) table.dur_ns[row] = 105 * kUs;
  EXPECT_EQ(odd_times(table).overlapping_work, 0u);
}

TEST(OddTimes, RowsOfOneLaunchMayOverlap) {
  EventTable table = healthy(2);
  table.correlation[3] = table.correlation[1];
  table.ts_ns[3] = table.ts_ns[1];
  EXPECT_EQ(odd_times(table).overlapping_work, 0u);
}

}  // namespace
}  // namespace lumos

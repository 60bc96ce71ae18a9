#include "lumos/sim/keep_residuals.h"

#include <gtest/gtest.h>

#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

TEST(KeepResiduals, EveryTaskStartsWhenItWasMeasuredTo) {
  const ExecGraph graph = small_step();
  const Timeline timeline = simulate(keep_residuals(graph));
  for (uint32_t task = 0; task < graph.size(); ++task) {
    EXPECT_EQ(timeline.start_ns[task], graph.measured_start_ns[task] - graph.measured_start_ns[0]) << "task " << task;
  }
}

TEST(KeepResiduals, WhateverTheMeasuredTimesAre) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const ExecGraph graph = random_graph(seed);
    EXPECT_EQ(simulate(keep_residuals(graph)).start_ns, graph.measured_start_ns) << "seed " << seed;
  }
}

TEST(KeepResiduals, ALongerTaskStillMovesWhatDependsOnIt) {
  ExecGraph kept = keep_residuals(small_step());
  const Timeline before = simulate(kept);
  kept.duration_ns[0] += 1000;
  const Timeline after = simulate(kept);
  EXPECT_EQ(after.end_ns.back(), before.end_ns.back() + 1000);
}

// A kernel that waits longer than a lag can say, while the host goes on beside it.
TEST(KeepResiduals, AWaitOfSecondsIsHeldByWhatEndedLast) {
  ExecGraph graph = small_step();
  constexpr int64_t kSecond = 1'000'000'000;
  const uint32_t last = static_cast<uint32_t>(graph.size()) - 1;
  for (uint32_t task = 1; task <= last; ++task) graph.measured_start_ns[task] += task * 5 * kSecond / last;
  const Timeline timeline = simulate(keep_residuals(graph));
  for (uint32_t task = 0; task < graph.size(); ++task) {
    EXPECT_EQ(timeline.start_ns[task], graph.measured_start_ns[task] - graph.measured_start_ns[0]) << "task " << task;
  }
}

TEST(KeepResiduals, NothingStaysNothing) {
  ExecGraph empty;
  empty.edge_begin = {0};
  EXPECT_EQ(keep_residuals(empty).size(), 0u);
}

}  // namespace
}  // namespace lumos

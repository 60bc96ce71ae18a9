#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "lumos/graph/job/job.h"
#include "lumos/graph/test_gloo.h"
#include "lumos/sim/simulate.h"

namespace lumos {
namespace {

LinkedJob job_of(int64_t compute_0_us, int64_t compute_1_us) {
  const int64_t end_us = std::max(compute_0_us, compute_1_us) + 50 + 2000;
  std::vector<EventTable> tables = {*gloo_rank(0, 4, compute_0_us, end_us), *gloo_rank(1, 4, compute_1_us, end_us)};
  return link_job(std::move(tables), JobOptions{});
}

TEST(Gloo, RanksMeetAndReplayAsMeasured) {
  const LinkedJob job = job_of(4000, 7000);
  EXPECT_EQ(job.linked.counts.rendezvous, 4u);
  const Timeline timeline = simulate(job.linked.graph);
  for (const RankTasks& rank : job.linked.graph.ranks) {
    const int64_t end =
        *std::max_element(timeline.end_ns.begin() + rank.first_task, timeline.end_ns.begin() + rank.end_task);
    EXPECT_NEAR(static_cast<double>(end), 80'000.0 * kUs, 50.0 * kUs);
  }
}

// On a busy machine the ends of one operation may be milliseconds apart: order within the step tells all the same.
TEST(Gloo, RanksMeetWhereEndsDisagree) {
  std::vector<EventTable> tables = {*gloo_rank(0, 4, 4000, 9000), *gloo_rank(1, 4, 4000, 15'000)};
  const LinkedJob job = link_job(std::move(tables), JobOptions{});
  EXPECT_EQ(job.matches.counts.by_sequence, 8u);
  EXPECT_EQ(job.linked.counts.rendezvous, 4u);
}

TEST(Gloo, TheSlowerRankHoldsTheOtherUp) {
  LinkedJob job = job_of(4000, 7000);
  ExecGraph& graph = job.linked.graph;
  const auto length = [&] {
    const Timeline timeline = simulate(graph);
    return *std::max_element(timeline.end_ns.begin(), timeline.end_ns.end());
  };
  const int64_t before = length();
  // Rank 0 waits anyway: up to 3 ms more of its compute change nothing, more of rank 1's change every step.
  const auto longer = [&](const RankTasks& rank, int64_t more_ns) {
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      const uint32_t row = graph.event[task];
      if (row != kNoIndex && rank.table->name_of(row) == "aten::mm") graph.duration_ns[task] += more_ns;
    }
  };
  longer(graph.ranks[0], 2000 * kUs);
  EXPECT_NEAR(static_cast<double>(length()), static_cast<double>(before), 100.0 * kUs);
  longer(graph.ranks[1], 2000 * kUs);
  EXPECT_NEAR(static_cast<double>(length()), static_cast<double>(before + 4 * 2000 * kUs), 100.0 * kUs);
}

}  // namespace
}  // namespace lumos

#include "lumos/report/results/stragglers.h"

#include <gtest/gtest.h>

#include "lumos/base/test_data.h"
#include "lumos/graph/test_job.h"

namespace lumos {
namespace {

/// A job whose rank 2 takes half as long again for every kernel.
LinkedJob job_with_slow_rank() {
  TestJobShape shape;
  shape.slow_rank = 2;
  shape.slowdown = 1.5;
  shape.rounds = 40;
  return link_job(make_test_job(shape).tables, {});
}

TEST(Stragglers, TheSlowRankComesFirstAndTheOthersWaitForIt) {
  const Stragglers found = find_stragglers(job_with_slow_rank(), 1);
  ASSERT_EQ(found.ranks.size(), 4u);
  EXPECT_EQ(found.ranks[0].rank, 2);
  EXPECT_NEAR(found.ranks[0].slowdown, 1.5, 0.15);
  EXPECT_GT(found.ranks[0].gain_ms, 0.03 * found.step_ms);
  ASSERT_FALSE(found.pairs.empty());
  EXPECT_EQ(found.pairs[0].waited_for, 2);
  for (const StragglerGroup& group : found.groups) {
    for (const GroupArrivals& member : group.members) {
      if (member.rank == 2 && group.size == 2) {
        EXPECT_GT(member.last_share, 0.7) << group.group;
      }
    }
  }
}

TEST(Stragglers, RanksThatAreEqualGainLittle) {
  TestJobShape shape;
  shape.rounds = 200;
  const Stragglers found = find_stragglers(link_job(make_test_job(shape).tables, {}), 1);
  for (const StragglerRank& rank : found.ranks) EXPECT_LT(rank.gain_ms, 0.05 * found.step_ms);
}

TEST(Stragglers, OneRankAloneHasNobodyToWaitFor) {
  TestJob job = make_test_job({});
  job.tables.resize(1);
  const Stragglers found = find_stragglers(link_job(std::move(job.tables), {}), 1);
  ASSERT_EQ(found.ranks.size(), 1u);
  EXPECT_EQ(found.ranks[0].gain_ms, 0);
  EXPECT_TRUE(found.pairs.empty());
  EXPECT_NE(stragglers_text(found).find("nobody is seen waiting"), std::string::npos);
}

TEST(Stragglers, LastRanksAreThoseOfTheRawStarts) {
  const std::string path = data_path("traces/dlrm-8rank-v100");
  SKIP_WITHOUT_DATA(path);
  const auto job = load_job({path}, {});
  ASSERT_TRUE(job.has_value());
  const JobMatches& matches = job->matches;
  uint64_t last_count = 0;
  for (const StragglerGroup& group : find_stragglers(*job, 1).groups) {
    for (const GroupArrivals& member : group.members) last_count += member.last;
  }
  EXPECT_EQ(last_count, matches.size());
  for (size_t m = 0; m < matches.size(); ++m) {
    // The last to come waits for nobody, and so has the shortest kernel.
    uint32_t last = matches.members_of(m)[0], shortest = last;
    for (uint32_t k : matches.members_of(m)) {
      if (matches.start_of(k) > matches.start_of(last)) last = k;
      const auto length = [&](uint32_t id) { return matches.kernels[id].end_ns - matches.kernels[id].start_ns; };
      if (length(k) < length(shortest)) shortest = k;
    }
    EXPECT_EQ(last, shortest);
  }
}

}  // namespace
}  // namespace lumos

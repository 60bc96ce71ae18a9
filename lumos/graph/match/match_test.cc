#include "lumos/graph/match/match.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lumos/base/test_data.h"
#include "lumos/graph/match/match_collect.h"
#include "lumos/graph/test_job.h"
#include "lumos/trace/kineto/reader.h"

namespace lumos {
namespace {

std::vector<const EventTable*> pointers(const std::vector<EventTable>& tables) {
  std::vector<const EventTable*> out;
  for (const EventTable& table : tables) out.push_back(&table);
  return out;
}

TestJobShape any_shape() {
  TestJobShape shape;
  shape.ranks = 2 * *rc::gen::inRange(1, 4);
  shape.rounds = *rc::gen::inRange(10, 40);
  shape.metadata = *rc::gen::arbitrary<bool>();
  shape.seed = *rc::gen::arbitrary<uint32_t>();
  return shape;
}

/// Members of a match were made in one meeting: their true ends are within the jitter.
void check_matches(const TestJob& job, const JobMatches& matches, int64_t jitter_ns) {
  for (size_t m = 0; m < matches.size(); ++m) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    std::vector<bool> seen(job.tables.size(), false);
    for (uint32_t k : matches.members_of(m)) {
      const uint32_t r = matches.kernels[k].rank_index;
      RC_ASSERT(!seen[r]);
      seen[r] = true;
      const double end = double(matches.kernels[k].end_ns - job.offset_ns[r]) / (1 + job.drift[r]);
      first = std::min(first, int64_t(end));
      last = std::max(last, int64_t(end));
    }
    RC_ASSERT(last - first <= jitter_ns + 10);
  }
}

RC_GTEST_PROP(Match, EveryCollectiveIsFoundWhateverTheClocks, ()) {
  const TestJobShape shape = any_shape();
  const TestJob job = make_test_job(shape);
  const JobMatches matches = match_ranks(pointers(job.tables), {});
  check_matches(job, matches, shape.jitter_ns);
  RC_ASSERT(matches.size() == size_t(job.collectives));
  for (size_t r = 0; r < job.tables.size(); ++r) {
    RC_ASSERT(matches.clocks[r].known);
    const double at_pivot = double(job.offset_ns[r]) + job.drift[r] * double(matches.clocks[r].pivot_ns);
    RC_ASSERT(std::abs(double(matches.clocks[r].offset_ns) - at_pivot) < 20'000);
  }
}

RC_GTEST_PROP(Match, MissingRanksAndCutStepsLoseOnlyWhatIsMissing, ()) {
  TestJobShape shape = any_shape();
  shape.ranks = std::max(4, shape.ranks);
  shape.metadata = true;
  TestJob job = make_test_job(shape);
  const int gone = *rc::gen::inRange(0, shape.ranks);
  const int cut = *rc::gen::inRange(0, shape.ranks);
  const int64_t middle = job.tables[cut].ts_ns[job.tables[cut].size() / 3];
  cut_before(job.tables[cut], middle);
  job.tables.erase(job.tables.begin() + gone);
  job.offset_ns.erase(job.offset_ns.begin() + gone);
  job.drift.erase(job.drift.begin() + gone);
  const JobMatches matches = match_ranks(pointers(job.tables), {});
  check_matches(job, matches, shape.jitter_ns);
  // The pair of the missing rank is alone; all other kernels of uncut ranks find at least one partner.
  RC_ASSERT(matches.counts.refused == 0u);
  uint64_t matched = matches.counts.by_order + matches.counts.by_ends;
  RC_ASSERT(matched + matches.counts.alone + matches.counts.unpaired == matches.counts.kernels);
  RC_ASSERT(matched >= matches.counts.kernels / 4);
}

TEST(Match, RanksOfDifferentJobsAreNotLinked) {
  TestJobShape shape;
  shape.ranks = 2;
  shape.metadata = false;
  TestJob a = make_test_job(shape);
  shape.seed = 99;
  TestJob b = make_test_job(shape);
  a.tables[1] = b.tables[1];
  const JobMatches matches = match_ranks(pointers(a.tables), {});
  EXPECT_EQ(matches.size(), 0u);
  EXPECT_EQ(matches.counts.refused, matches.counts.kernels);
}

TEST(Match, NothingToMatchIsAnAnswer) {
  EXPECT_EQ(match_ranks({}, {}).size(), 0u);
  EventTable empty;
  empty.names = std::make_shared<NamePool>();
  const std::vector<const EventTable*> one = {&empty};
  EXPECT_EQ(match_ranks(one, {}).counts.kernels, 0u);
}

TEST(Match, RankListsThatAreCutTellNothing) {
  EXPECT_EQ(parse_rank_list("[0, 8, 16]"), (std::vector<int32_t>{0, 8, 16}));
  EXPECT_TRUE(parse_rank_list("[0, 1, 2...]").empty());
  EXPECT_TRUE(parse_rank_list("").empty());
}

JobMatches match_folder(const std::string& path) {
  auto set = read_traces({path}, {});
  EXPECT_TRUE(set.has_value());
  return match_ranks(pointers(set->tables), {});
}

TEST(Match, SampledRanksAreLinkedOnlyWhereEndsAgree) {
  const std::string path = data_path("traces/sampled-2-of-128");
  SKIP_WITHOUT_DATA(path);
  const JobMatches matches = match_folder(path);
  EXPECT_EQ(matches.counts.by_order, 0u);
  EXPECT_LE(matches.counts.by_ends, 4u);
  EXPECT_GE(matches.counts.refused, 16u);
}

TEST(Match, EightRanksEndTogetherAfterAlignment) {
  const std::string path = data_path("traces/dlrm-8rank-v100");
  SKIP_WITHOUT_DATA(path);
  const JobMatches matches = match_folder(path);
  ASSERT_EQ(matches.size(), 8u);
  for (size_t m = 0; m < matches.size(); ++m) {
    ASSERT_EQ(matches.members_of(m).size(), 8u);
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t k : matches.members_of(m)) {
      first = std::min(first, matches.end_of(k));
      last = std::max(last, matches.end_of(k));
    }
    EXPECT_LE(last - first, 10'000);
  }
}

TEST(Match, TwoHostsClocksDifferByAQuarterMillisecond) {
  const std::string path = data_path("traces/llama-tp2-rtx4090");
  SKIP_WITHOUT_DATA(path);
  const JobMatches matches = match_folder(path);
  EXPECT_EQ(matches.size(), 19u);
  EXPECT_NEAR(double(matches.clocks[1].offset_ns), 250e3, 20e3);
}

}  // namespace
}  // namespace lumos

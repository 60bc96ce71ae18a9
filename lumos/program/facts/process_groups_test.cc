#include "lumos/program/facts/process_groups.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "lumos/model/job/test_jobs.h"

namespace lumos {
namespace {

using Ranks = std::vector<int32_t>;

const RankGroup& group_of(const RankGroups& groups, GroupKind kind) { return groups.at(static_cast<size_t>(kind)); }

Job job_of_sixteen() {
  return test_job(
      {{"tensor_model_parallel_size", "2"}, {"pipeline_model_parallel_size", "4"}, {"data_parallel_size", "2"}});
}

TEST(ProcessGroups, FollowTheOrderOfRanks) {
  const RankGroups groups = groups_of_rank(job_of_sixteen(), 6);  // tensor 0, data 1, stage 1
  EXPECT_EQ(group_of(groups, GroupKind::kTensor).ranks, (Ranks{6, 7}));
  EXPECT_EQ(group_of(groups, GroupKind::kData).ranks, (Ranks{4, 6}));
  EXPECT_EQ(group_of(groups, GroupKind::kPipeline).ranks, (Ranks{2, 6, 10, 14}));
  EXPECT_EQ(group_of(groups, GroupKind::kModel).ranks, (Ranks{2, 3, 6, 7, 10, 11, 14, 15}));
  EXPECT_EQ(group_of(groups, GroupKind::kWorld).size(), 16);
}

TEST(ProcessGroups, OnlyTheEndsOfAPipelineShareTheEmbedding) {
  const Job job = job_of_sixteen();
  EXPECT_EQ(group_of(groups_of_rank(job, 2), GroupKind::kEmbedding).ranks, (Ranks{2, 14}));
  EXPECT_EQ(group_of(groups_of_rank(job, 14), GroupKind::kEmbedding).ranks, (Ranks{2, 14}));
  EXPECT_EQ(group_of(groups_of_rank(job, 6), GroupKind::kEmbedding).ranks, (Ranks{6}));
}

TEST(ProcessGroups, ANumberMeansTheSameRanksEverywhere) {
  const Job job = job_of_sixteen();
  std::map<int64_t, Ranks> known;
  for (int64_t rank = 0; rank < job.world_size; ++rank) {
    for (const RankGroup& group : groups_of_rank(job, rank)) {
      if (group.size() < 2) continue;
      const auto [found, fresh] = known.try_emplace(group.number, group.ranks);
      EXPECT_EQ(found->second, group.ranks) << group.number;
    }
  }
}

TEST(ProcessGroups, KindsFollowFromTheDimensionsThatAGroupExtendsAlong) {
  EXPECT_EQ(group_kind(Dimension::kData), GroupKind::kData);
  EXPECT_EQ(group_kind({Dimension::kTensor, Dimension::kPipeline}), GroupKind::kModel);
  EXPECT_GT(group_kind(Dimension::kContext), GroupKind::kEmbedding);
  EXPECT_EQ(group_kind({Dimension::kTensor, Dimension::kData, Dimension::kPipeline}), GroupKind::kWorld);
}

TEST(ProcessGroups, LongListsAreCut) {
  Ranks ranks(31);
  std::iota(ranks.begin(), ranks.end(), 0);
  EXPECT_EQ(ranks_text({0, 2}), "[0, 2]");
  EXPECT_TRUE(ranks_text(ranks).ends_with("28, 29, ...]"));
}

}  // namespace
}  // namespace lumos

#include "lumos/whatif/times/group_members.h"

#include <gtest/gtest.h>

#include "lumos/whatif/edit/link_speed.h"

namespace lumos {
namespace {

/// One rank that took part in one kernel of a group of `ranks`.
LinkedJob job_with_group(const std::vector<int32_t>& ranks) {
  LinkedJob job;
  job.linked.graph.ranks.resize(1);
  job.linked.graph.ranks[0].rank = ranks.front();
  CommGroup group;
  group.ranks = ranks;
  group.size = static_cast<int32_t>(ranks.size());
  job.matches.groups = {group};
  CommKernel kernel;
  kernel.group = 0;
  kernel.kind = CollectiveKind::kAllReduce;
  job.matches.kernels = {kernel};
  job.linked.transfer_task = {kNoIndex};
  return job;
}

// Groups begin anywhere in a node: pipeline stages and odd tensor sizes do that.
TEST(GroupMembers, WhereAGroupBeginsDecidesWhetherItLeavesItsNode) {
  constexpr int64_t kPerNode = 8;
  for (int32_t first = 0; first < 16; ++first) {
    for (int32_t apart : {1, 2, 4, 7}) {
      const LinkedJob job = job_with_group({first, first + apart});
      const bool together = first / kPerNode == (first + apart) / kPerNode;
      EXPECT_EQ(transfer_shape(job, job.matches.kernels[0], kPerNode).nodes(), together ? 1 : 2) << first;
      EXPECT_EQ(crosses(job, LinkTier::kAcrossNodes, kPerNode).chosen[0], !together) << first;
      EXPECT_EQ(crosses(job, LinkTier::kWithinNodes, kPerNode).chosen[0], together) << first;
    }
  }
}

TEST(GroupMembers, AMessageGoesBetweenItsTwoEnds) {
  LinkedJob job = job_with_group({6, 7, 8, 9});
  CommKernel& kernel = job.matches.kernels[0];
  kernel.kind = CollectiveKind::kSendRecv;
  kernel.peer = 7;
  EXPECT_EQ(transfer_shape(job, kernel, 8), (GroupShape{2, 2}));
  kernel.peer = 8;
  EXPECT_EQ(transfer_shape(job, kernel, 8), (GroupShape{2, 1}));
}

TEST(GroupMembers, OfAListThatWasCutTheDistanceTells) {
  LinkedJob job = job_with_group({0, 4, 8});
  job.matches.groups[0].size = 64;
  EXPECT_EQ(transfer_shape(job, job.matches.kernels[0], 8), (GroupShape{64, 2}));
}

}  // namespace
}  // namespace lumos

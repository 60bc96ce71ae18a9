#include "lumos/program/measure/host_lags.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace lumos {
namespace {

RC_GTEST_PROP(HostLags, StepsLeadBackToTheLagsTheyWereMadeOf, ()) {
  const auto lags_ns = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1'000'000, 1'000'000));
  for (const PeerGroup group : {PeerGroup::kTensor, PeerGroup::kData}) {
    HostLags seen, followed;
    for (const int lag_ns : lags_ns) {
      const int64_t work_ns = *rc::gen::inRange(1, 1'000'000);
      const bool waits = *rc::gen::arbitrary<bool>();
      for (HostLags* lags : {&seen, &followed}) {
        if (waits) lags->pass(TaskKind::kSyncReturn, 0);
        lags->pass(TaskKind::kHost, work_ns);
      }
      const PeerLag step = seen.step_to(group, lag_ns);
      seen.follow(step);
      followed.follow(step);
      RC_ASSERT(std::abs(followed.behind_ns(group) - std::max(0, lag_ns)) < 1.0);
    }
  }
}

TEST(HostLags, AHostThatWaitsForTheGpuIsLevelWithTheOthers) {
  HostLags lags;
  lags.follow(lags.step_to(PeerGroup::kTensor, 5'000));
  EXPECT_EQ(lags.behind_ns(PeerGroup::kTensor), 5'000);
  lags.pass(TaskKind::kKernel, 1'000'000);
  EXPECT_EQ(lags.behind_ns(PeerGroup::kTensor), 5'000);
  lags.pass(TaskKind::kSyncReturn, 0);
  EXPECT_EQ(lags.behind_ns(PeerGroup::kTensor), 0);
}

TEST(HostLags, ReplicasFallApartWithTheWorkBetweenTheirMeetings) {
  HostLags traced;
  traced.pass(TaskKind::kHost, 1'000);
  const PeerLag step = traced.step_to(PeerGroup::kData, 100);
  HostLags longer;
  longer.pass(TaskKind::kHost, 10'000);
  longer.follow(step);
  EXPECT_EQ(longer.behind_ns(PeerGroup::kData), 1'000);
}

TEST(HostLags, MoreReplicasHoldUpByTheirSlownessOnly) {
  PeerLag step;
  step.group = PeerGroup::kData;
  step.step_ns = 2'000;
  step.slower_ns = 300;
  HostLags lags;
  lags.follow(step);
  EXPECT_EQ(lags.behind_ns(PeerGroup::kData, 2), 2'300);
  step.slower_ns = -300;  // this replica is the slowest
  HostLags last;
  last.follow(step);
  EXPECT_EQ(last.behind_ns(PeerGroup::kData, 2), 2'000);
}

TEST(HostLags, MoreTensorParallelRanksAreFartherApart) {
  HostLags lags;
  lags.follow(lags.step_to(PeerGroup::kTensor, 1'000));
  EXPECT_EQ(lags.behind_ns(PeerGroup::kTensor, 1.5), 1'500);
  lags.follow(lags.step_to(PeerGroup::kTensor, -1'000));
  EXPECT_EQ(lags.behind_ns(PeerGroup::kTensor, 1.5), 0);
}

}  // namespace
}  // namespace lumos

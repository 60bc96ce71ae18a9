#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "lumos/model/job/test_jobs.h"
#include "lumos/model/kernels/collective.h"
#include "lumos/plan/calibrate.h"

namespace lumos {
namespace {

constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce,     CollectiveKind::kAllGather,
                                     CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast,
                                     CollectiveKind::kSendRecv,      CollectiveKind::kAllToAll};

RC_GTEST_PROP(Collective, GrowsWithBytes, (uint32_t bytes, uint32_t more)) {
  const Cluster cluster = test_cluster();
  const int64_t size = *rc::gen::inRange(2, 600);
  const GroupShape group = group_shape(size, *rc::gen::inRange(1, 16), 8);
  for (CollectiveKind kind : kKinds) {
    const double base_us = collective_us({kind, double(bytes), group}, cluster);
    RC_ASSERT(base_us > 0);
    RC_ASSERT(collective_us({kind, double(bytes) + more, group}, cluster) >= base_us);
  }
}

RC_GTEST_PROP(Collective, NeverPassesTheLinks, ()) {
  const Cluster cluster = test_cluster();
  const int64_t size = *rc::gen::inRange(2, 600);
  const GroupShape group = group_shape(size, *rc::gen::inRange(1, 16), 8);
  const double cards = double(std::min<int64_t>(group.per_node, group.size));
  const double limit =
      group.nodes() == 1 ? cluster.node.gb_per_s : std::min(cluster.node.gb_per_s, cards * cluster.fabric.gb_per_s);
  for (CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    const Collective collective{kind, 1e10, group};
    RC_ASSERT(bus_gb_per_s(collective, collective_us(collective, cluster)) <= limit * 1.0001);
  }
}

TEST(Collective, ReduceScatterAndAllGatherMakeAnAllReduce) {
  const Cluster cluster = test_cluster();
  const GroupShape group{8, 8};
  const double whole_us = collective_us({CollectiveKind::kAllReduce, 1e9, group}, cluster);
  const double halves_us = collective_us({CollectiveKind::kReduceScatter, 1e9, group}, cluster) +
                           collective_us({CollectiveKind::kAllGather, 1e9, group}, cluster);
  EXPECT_NEAR(halves_us, whole_us, 0.02 * whole_us);
}

TEST(Collective, AGroupThatLeavesItsNodeIsSlower) {
  const Cluster cluster = test_cluster();
  const double inside_us = collective_us({CollectiveKind::kAllReduce, 1e8, {8, 8}}, cluster);
  const double strided_us = collective_us({CollectiveKind::kAllReduce, 1e8, {8, 1}}, cluster);
  EXPECT_GT(strided_us, 3 * inside_us);
}

TEST(Collective, GroupsOnNodesFollowTheStride) {
  EXPECT_EQ(group_shape(8, 1, 8), (GroupShape{8, 8}));
  EXPECT_EQ(group_shape(4, 2, 8), (GroupShape{4, 4}));
  EXPECT_EQ(group_shape(16, 2, 8), (GroupShape{16, 4}));
  EXPECT_EQ(group_shape(16, 8, 8), (GroupShape{16, 1}));
  EXPECT_EQ(group_shape(1, 1, 8), (GroupShape{1, 1}));
}

TEST(Collective, BusBandwidthIsDefinedAsInNcclTests) {
  // 1 GB in 10 ms among 8: 100 GB/s, 175 on the bus.
  EXPECT_NEAR(bus_gb_per_s({CollectiveKind::kAllReduce, 1e9, {8, 8}}, 1e4), 175, 1e-9);
}

TEST(Collective, MeasuredAllReducesAreWithinFifteenPercentOfAFit) {
  const std::string path = data_path("measured/allreduce-a100-nvlink.csv");
  SKIP_WITHOUT_DATA(path);
  const auto table = read_csv_file(path);
  ASSERT_TRUE(table) << table.error().message;
  const auto rows = measured_collectives(*table);
  ASSERT_TRUE(rows) << rows.error().message;
  const auto fit = calibrate_collectives(test_cluster("dgx-a100"), *rows, 4 << 20);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_LE(fit->constants.size(), 6u);
  EXPECT_LT(fit->in_sample.mean_pct, 10);
  EXPECT_LT(fit->in_sample.worst_pct, 15);
  EXPECT_LT(fit->left_out_total.mean_pct, 10);
  EXPECT_LT(fit->left_out_total.worst_pct, 15);
}

RC_GTEST_PROP(Collective, ListedMembersCrossNodesExactlyWhenTheyAreOnSeveral, ()) {
  const int64_t gpus_per_node = *rc::gen::inRange(1, 17);
  const auto listed = *rc::gen::nonEmpty(rc::gen::container<std::vector<int32_t>>(rc::gen::inRange(0, 64)));
  const GroupShape shape = group_shape(listed, gpus_per_node);
  const bool together = std::all_of(listed.begin(), listed.end(), [&](int32_t rank) {
    return rank / gpus_per_node == listed.front() / gpus_per_node;
  });
  RC_ASSERT((shape.nodes() == 1) == together);
  RC_ASSERT(shape.per_node <= std::min(shape.size, gpus_per_node));
}

TEST(Collective, AListThatBeginsANodeHasTheShapeOfItsStride) {
  for (int64_t gpus_per_node : {1, 2, 4, 8, 16}) {
    for (int64_t stride = 1; stride <= 16; stride *= 2) {
      for (int64_t size = 2; size <= 64; size *= 2) {
        std::vector<int32_t> ranks;
        for (int64_t i = 0; i < size; ++i) ranks.push_back(static_cast<int32_t>(16 * stride + i * stride));
        EXPECT_EQ(group_shape(ranks, gpus_per_node), group_shape(size, stride, gpus_per_node))
            << size << " ranks " << stride << " apart, " << gpus_per_node << " per node";
      }
    }
  }
  EXPECT_EQ(group_shape({4, 8}, 8), (GroupShape{2, 1}));
  EXPECT_EQ(group_shape({4, 6}, 8), (GroupShape{2, 2}));
}

}  // namespace
}  // namespace lumos

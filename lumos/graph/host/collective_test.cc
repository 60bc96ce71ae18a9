#include "lumos/graph/host/collective.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(Collective, KindComesFromTheNameWithoutItsArguments) {
  EXPECT_EQ(kind_of_kernel_name("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)"), CollectiveKind::kReduceScatter);
  EXPECT_EQ(kind_of_kernel_name("ncclKernel_AllGather_RING_LL_Sum_int8_t(x)"), CollectiveKind::kAllGather);
  EXPECT_EQ(kind_of_kernel_name("ncclDevKernel_Generic(ncclSendRecvArgs)"), CollectiveKind::kUnknown);
  EXPECT_EQ(kind_of_metadata("_reduce_scatter_base"), CollectiveKind::kReduceScatter);
  EXPECT_EQ(kind_of_metadata("all_to_allv"), CollectiveKind::kAllToAll);
  EXPECT_EQ(kind_of_metadata("send"), CollectiveKind::kSendRecv);
}

TEST(Collective, BytesAndBusFactorsFollowNccl) {
  CollectiveDetail detail;
  detail.in_elements = 100;
  detail.out_elements = 400;
  EXPECT_EQ(collective_bytes(CollectiveKind::kAllGather, detail, "BFloat16"), 800);
  EXPECT_EQ(collective_bytes(CollectiveKind::kAllReduce, detail, "Float"), 400);
  EXPECT_EQ(collective_bytes(CollectiveKind::kAllReduce, detail, "Mystery"), -1);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kSendRecv, 2), 1.0);
}

}  // namespace
}  // namespace lumos

#include "lumos/trace/words/collective_kind.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(CollectiveKind, KindComesFromTheNameWithoutItsArguments) {
  EXPECT_EQ(kind_of_kernel_name("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)"), CollectiveKind::kReduceScatter);
  EXPECT_EQ(kind_of_kernel_name("ncclKernel_AllGather_RING_LL_Sum_int8_t(x)"), CollectiveKind::kAllGather);
  EXPECT_EQ(kind_of_kernel_name("ncclDevKernel_Generic(ncclSendRecvArgs)"), CollectiveKind::kUnknown);
  EXPECT_EQ(kind_of_metadata("_reduce_scatter_base"), CollectiveKind::kReduceScatter);
  EXPECT_EQ(kind_of_metadata("all_to_allv"), CollectiveKind::kAllToAll);
  EXPECT_EQ(kind_of_metadata("send"), CollectiveKind::kSendRecv);
}

TEST(CollectiveKind, RowsAroundALaunchNameItWithTheirLibrariesPrefix) {
  EXPECT_EQ(hint_of_name("nccl:all_reduce").kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(hint_of_name("_c10d_functional::all_gather_into_tensor").kind, CollectiveKind::kAllGather);
  EXPECT_TRUE(hint_of_name("c10d::send").sends && !hint_of_name("c10d::send").receives);
  EXPECT_TRUE(hint_of_name("nccl:coalesced").coalesced);
  EXPECT_FALSE(hint_of_name("aten::all_reduce").tells());
  EXPECT_TRUE(only_waits("wait") && !only_waits("allreduce"));
}

}  // namespace
}  // namespace lumos

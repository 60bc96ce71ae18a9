#include "lumos/graph/collective.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(Collective, NamesOfAllKnownLibrariesAreCommunication) {
  for (const char* name :
       {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "rcclGenericKernel<1, false>(ncclDevKernelArgs)",
        "mscclKernel_Sum_half_LL_false", "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)",
        "void deep_ep::intranode::dispatch<8, 768>(int4*)", "multimem_all_reduce_kernel<float>"}) {
    EXPECT_TRUE(is_communication_name(name)) << name;
  }
  for (const char* name : {"void at::native::reduce_kernel<512, 1>", "ampere_sgemm_128x64_tn", "void dispatch_kernel()",
                           "combine_topk(float*)"}) {
    EXPECT_FALSE(is_communication_name(name)) << name;
  }
}

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

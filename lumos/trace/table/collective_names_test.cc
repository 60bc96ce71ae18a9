#include "lumos/trace/table/collective_names.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(CollectiveNames, KnowsTheLibraries) {
  for (const char* name :
       {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
        "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "rcclGenericKernel", "mscclKernel_Sum_half_LL",
        "nvshmemi_transfer_allreduce", "void deep_ep::internode_ll::dispatch<true, 8>(void*)",
        "void deep_ep::intranode::combine<__nv_bfloat16>(void*)", "void vllm::cross_device_reduce_1stage<float, 2>()",
        "oneccl_allreduce_pcie", "hcom_allReduce__305_880_1", "hcom_alltoall_AicpuKernel_503_1_1", "HcclReduceScatter",
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>()"}) {
    EXPECT_TRUE(is_communication_kernel(name)) << name;
  }
}

TEST(CollectiveNames, LeavesComputeAlone) {
  for (const char* name : {"ampere_sgemm_128x64_nn", "void at::native::reduce_kernel<512, 1>()", "Memcpy DtoD",
                           "deep_ep_layout", "void cutlass::Kernel<cutlass_80>()", ""}) {
    EXPECT_FALSE(is_communication_kernel(name)) << name;
  }
}

EventTable one_row(EventKind kind, std::string_view name) {
  auto names = std::make_shared<NamePool>();
  EventTable table;
  table.ts_ns = {0};
  table.dur_ns = {1};
  table.name = {names->intern(name)};
  table.lane = {0};
  table.kind = {kind};
  table.correlation = {-1};
  table.external_id = {0};
  table.detail = {kNoIndex};
  table.lanes.resize(1);
  table.names = names;
  return table;
}

TEST(CollectiveNames, MetadataMakesAnyGpuRowCommunication) {
  EventTable table = one_row(EventKind::kKernel, "unknown_kernel");
  EXPECT_FALSE(is_communication(table, 0));
  table.collectives.resize(1);
  table.gpu.resize(1);
  table.gpu[0].collective = 0;
  table.detail = {0};
  EXPECT_TRUE(is_communication(table, 0));
  EXPECT_EQ(communication_rows(table), std::vector<uint8_t>{1});
}

TEST(CollectiveNames, GlooWorksOnTheCpuAndNcclAnnotationsDoNot) {
  EXPECT_TRUE(is_communication(one_row(EventKind::kAnnotation, "gloo:all_reduce"), 0));
  EXPECT_FALSE(is_communication(one_row(EventKind::kAnnotation, "nccl:all_reduce"), 0));
  EXPECT_FALSE(is_communication(one_row(EventKind::kCpuOp, "ncclKernel_looking_operator"), 0));
}

}  // namespace
}  // namespace lumos

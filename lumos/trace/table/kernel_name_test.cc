#include "lumos/trace/table/kernel_name.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(ShortKernelName, IsWhatPeopleCallIt) {
  EXPECT_EQ(short_kernel_name("void at::native::vectorized_elementwise_kernel<4, at::X<float> >(int, at::X<float>)"),
            "vectorized_elementwise_kernel");
  EXPECT_EQ(short_kernel_name("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(int*)"),
            "multimem_all_reduce_kernel");
  EXPECT_EQ(short_kernel_name("ampere_sgemm_128x64_nn"), "ampere_sgemm_128x64_nn");
  EXPECT_EQ(short_kernel_name("Memcpy HtoD (Pageable -> Device)"), "Memcpy HtoD");
  EXPECT_EQ(short_kernel_name("ncclDevKernel_AllReduce(x<y>::z)"), "ncclDevKernel_AllReduce");
  EXPECT_EQ(
      short_kernel_name("std::enable_if<(((8)>(0)))&&vllm::ok<float>::exists, void>::type vllm::rms_norm<float>(int)"),
      "rms_norm");
  EXPECT_EQ(short_kernel_name("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64>(cutlass_80::Params)"),
            "cutlass_80_tensorop_s1688gemm_64x64");
  EXPECT_EQ(short_kernel_name("broken<(name"), "broken");
  EXPECT_EQ(short_kernel_name(""), "");
}

}  // namespace
}  // namespace lumos

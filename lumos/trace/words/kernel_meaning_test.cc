#include "lumos/trace/words/kernel_meaning.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(KernelMeaning, ProductsAreToldFromAttentionAndFromTheirOwnSums) {
  EXPECT_TRUE(kernel_meaning("cutlass_tensorop_bf16_gemm_bf16_128x256_64x4_tn_align8").is_product());
  EXPECT_TRUE(kernel_meaning("Cijk_Alik_Bljk_BBS_BH").is_product());
  EXPECT_FALSE(kernel_meaning("void flash_fwd_kernel<cutlass::bfloat16_t>()").is_product());
  EXPECT_TRUE(kernel_meaning("void flash_fwd_kernel<cutlass::bfloat16_t>()").is_fused_attention());
  EXPECT_FALSE(kernel_meaning("scaled_masked_softmax_warp_forward").is_fused_attention());
  EXPECT_FALSE(kernel_meaning("void cublasLt::splitKreduce_kernel<32, gemm>()").is_product());
}

TEST(KernelMeaning, NamesOfProductsTellTheirType) {
  const auto type = [](const char* name) { return kernel_meaning(name).product_type; };
  EXPECT_EQ(type("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"), ElementType::kBFloat16);
  EXPECT_EQ(type("ampere_fp16_s16816gemm_fp16_128x128"), ElementType::kFloat16);
  EXPECT_EQ(type("ampere_sgemm_128x64_nn"), ElementType::kFloat32);
  EXPECT_EQ(type("nvjet_tst_144x128"), ElementType::kUnknown);
}

TEST(KernelMeaning, NormsOfBothKinds) {
  const auto norm = [](const char* name) { return kernel_meaning(name).norm; };
  EXPECT_EQ(norm("void layer_norm::rmsnorm_fwd_kernel"), NormKind::kRootMeanSquare);
  EXPECT_EQ(norm("void layer_norm::ln_fwd_kernel"), NormKind::kLayer);
  EXPECT_EQ(norm("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, true>(int)"),
            NormKind::kRootMeanSquare);
  EXPECT_EQ(norm("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int)"),
            NormKind::kLayer);
  EXPECT_EQ(norm("void at::native::(anonymous namespace)::layer_norm_grad<float>()"), NormKind::kUnknown);
}

// Servers copy a batch's inputs so before they launch a graph.
TEST(KernelMeaning, ACopyOfManyTensorsIsNoOptimizer) {
  EXPECT_TRUE(kernel_meaning("void multi_tensor_apply_kernel<AdamFunctor<float>>()").is(KernelTrait::kOptimizer));
  EXPECT_FALSE(kernel_meaning("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<2>,"
                              " at::native::Copy<int, long> >()")
                   .is(KernelTrait::kOptimizer));
}

TEST(KernelMeaning, CollectivesAreShownByTheirOwnName) {
  EXPECT_EQ(short_collective_name("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"), "AllReduce");
  EXPECT_EQ(short_collective_name("void vllm::cross_device_reduce_1stage<float, 2>()"),
            "void vllm::cross_device_reduce_1stage");
}

}  // namespace
}  // namespace lumos

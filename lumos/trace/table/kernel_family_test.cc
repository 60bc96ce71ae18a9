#include "lumos/trace/table/kernel_family.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(KernelFamily, SaysWhatKernelsOfTheCommonLibrariesDo) {
  const std::pair<const char*, KernelFamily> expected[] = {
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", KernelFamily::kGemm},
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x512", KernelFamily::kGemm},
      {"nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN", KernelFamily::kGemm},
      {"void cudnn::cnn::wgrad_alg0_engine<float, 128>(int)", KernelFamily::kConvolution},
      {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, cutlass::bfloat16_t>>()", KernelFamily::kAttention},
      {"attn_fwd", KernelFamily::kAttention},
      {"void transformer_engine::normalization::ln_bwd_tuned_kernel<int>()", KernelFamily::kNorm},
      {"void cudnn::bn_bw_1C11_kernel_new<float>()", KernelFamily::kNorm},
      {"void multi_tensor_apply_kernel<TensorListMetadata<1>, L2NormFunctor<float>>()", KernelFamily::kOptimizer},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>()",
       KernelFamily::kElementwise},
      {"void rotary_embedding_kernel<c10::BFloat16, true>()", KernelFamily::kElementwise},
      {"triton_poi_fused_add_gelu_0", KernelFamily::kElementwise},
      {"void at::native::reduce_kernel<512, 1>()", KernelFamily::kReduction},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", KernelFamily::kCommunication},
      {"volta_scudnn_128x128_stridedB_splitK_medium_nn_v1", KernelFamily::kConvolution},
      {"some_new_thing", KernelFamily::kOther},
  };
  for (const auto& [name, family] : expected) EXPECT_EQ(family_name(kernel_family(name)), family_name(family)) << name;
}

}  // namespace
}  // namespace lumos

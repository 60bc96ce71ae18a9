#include "lumos/program/recover/operator_names.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace lumos {
namespace {

constexpr std::string_view kElementwise =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> "
    ">(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)";
constexpr std::string_view kLinear = "LinearWithGradAccumulationAndAsyncCommunication";
constexpr std::string_view kLinearBackward = "LinearWithGradAccumulationAndAsyncCommunicationBackward";
constexpr std::string_view kReduce = "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float> >";
constexpr std::string_view kDropoutAdd = "triton_poi_fused_add_native_dropout_0";
constexpr std::string_view kDropoutAddBackward = "triton_poi_fused_native_dropout_backward_0";

constexpr std::array<std::pair<std::string_view, OperatorNames>, 18> kNames = {{
    {"linear_qkv", {kLinear, kLinearBackward, "", kReduce, "", "aten::sum"}},
    {"linear_proj", {kLinear, kLinearBackward, "", kReduce, "", "aten::sum"}},
    {"linear_fc1", {kLinear, kLinearBackward, "", kReduce, "", "aten::sum"}},
    {"linear_fc2", {kLinear, kLinearBackward, "", kReduce, "", "aten::sum"}},
    {"output_layer", {kLinear, kLinearBackward, "", kElementwise}},
    {"rotary", {"FusedRoPEFunc", "FusedRoPEFuncBackward", "fused_rope_forward", "fused_rope_backward"}},
    {"core_attention",
     {"FlashAttnFunc", "FlashAttnFuncBackward", "void flash_fwd_kernel<Flash_fwd_kernel_traits>(Flash_fwd_params)",
      "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits>(Flash_bwd_params)",
      "flash_attn::_flash_attn_forward", "flash_attn::_flash_attn_backward"}},
    {"attention_scores", {"aten::baddbmm", "BaddbmmBackward0", "", kElementwise, "", "aten::mul"}},
    {"attention_softmax",
     {"ScaledUpperTriangMaskedSoftmax", "ScaledUpperTriangMaskedSoftmaxBackward",
      "void scaled_upper_triang_masked_softmax_warp_forward", "void scaled_upper_triang_masked_softmax_warp_backward"}},
    {"attention_dropout",
     {"aten::dropout", "NativeDropoutBackward0", "void at::native::fused_dropout_kernel_vec",
      "void at::native::masked_scale_kernel", "aten::native_dropout", "aten::native_dropout_backward"}},
    {"attention_context", {"aten::bmm", "BmmBackward0", "", kElementwise, "", "aten::mul"}},
    {"attention_transpose",
     {"aten::contiguous", "TransposeBackward0", "void at::native::elementwise_copy_kernel",
      "void at::native::elementwise_copy_kernel", "aten::copy_", "aten::copy_"}},
    {"self_attn_bda", {"BiasDropoutAdd", "BiasDropoutAddBackward", kDropoutAdd, kDropoutAddBackward}},
    {"mlp_bda", {"BiasDropoutAdd", "BiasDropoutAddBackward", kDropoutAdd, kDropoutAddBackward}},
    {"word_embeddings",
     {"aten::embedding", "EmbeddingBackward0", "void at::native::indexSelectLargeIndex",
      "void at::native::embedding_backward_feature_kernel", "aten::index_select", "aten::embedding_dense_backward"}},
    {"position_embeddings", {"aten::add", "AddBackward0", kElementwise, kElementwise, "", "aten::sum"}},
    {"embedding_dropout",
     {"aten::dropout", "NativeDropoutBackward0", "void at::native::fused_dropout_kernel_vec",
      "void at::native::masked_scale_kernel", "aten::native_dropout", "aten::native_dropout_backward"}},
    {"cross_entropy", {"_VocabParallelCrossEntropy", "_VocabParallelCrossEntropyBackward", kElementwise, kElementwise}},
}};

constexpr OperatorNames kLayerNorm = {"FusedLayerNormAffineFunction", "FusedLayerNormAffineFunctionBackward",
                                      "void layer_norm::ln_fwd_kernel", "void layer_norm::ln_bwd_kernel"};
constexpr OperatorNames kRmsNorm = {"FusedRMSNormAffineFunction", "FusedRMSNormAffineFunctionBackward",
                                    "void layer_norm::rmsnorm_fwd_kernel", "void layer_norm::rmsnorm_bwd_kernel"};
constexpr OperatorNames kGelu = {"GeLUFunction", "GeLUFunctionBackward", "triton_poi_fused_add_gelu_0",
                                 "triton_poi_fused_add_gelu_backward_0"};
constexpr OperatorNames kSwiGlu = {"SwiGLUFunction", "SwiGLUFunctionBackward", "triton_poi_fused_mul_silu_0",
                                   "triton_poi_fused_mul_silu_backward_0"};

std::string_view short_type(std::string_view dtype) {
  if (dtype == "BFloat16") return "bf16";
  if (dtype == "Half") return "f16";
  return dtype == "Long" ? "i64" : "f32";
}

}  // namespace

OperatorNames operator_names(std::string_view role, const Job& job) {
  for (const auto& [known, names] : kNames)
    if (known == role) return names;
  if (role == "activation") return job.swiglu ? kSwiGlu : kGelu;
  if (role.ends_with("layernorm")) return job.normalization == Normalization::kRmsNorm ? kRmsNorm : kLayerNorm;
  return {"aten::add", "AddBackward0", kElementwise, kElementwise};
}

std::string gemm_kernel_name(const Job& job, GemmLayout layout, bool batched) {
  const std::string_view type = short_type(dtype_name(job));
  const std::string_view layouts[] = {"tn", "nn", "nt"};
  return fmt::format("cutlass_tensorop_{0}_gemm_{0}_128x256_64x4_{1}_align8{2}", type,
                     layouts[static_cast<int>(layout)], batched ? "_batched" : "");
}

CollectiveNames collective_names(CollectiveKind kind, std::string_view dtype) {
  constexpr std::string_view kArguments = "(ncclDevKernelArgsStorage<4096ul>)";
  switch (kind) {
    case CollectiveKind::kAllGather:
      return {"c10d::_allgather_base_", "_allgather_base", "nccl:_all_gather_base",
              fmt::format("ncclDevKernel_AllGather_RING_LL{}", kArguments)};
    case CollectiveKind::kReduceScatter:
      return {"c10d::_reduce_scatter_base_", "_reduce_scatter_base", "nccl:_reduce_scatter_base",
              fmt::format("ncclDevKernel_ReduceScatter_Sum_{}_RING_LL{}", short_type(dtype), kArguments)};
    case CollectiveKind::kSendRecv:
      return {"c10d::send", "send", "nccl:send", fmt::format("ncclDevKernel_SendRecv{}", kArguments)};
    default:
      return {"c10d::allreduce_", "allreduce", "nccl:all_reduce",
              fmt::format("ncclDevKernel_AllReduce_Sum_{}_RING_LL{}", short_type(dtype), kArguments)};
  }
}

std::string_view dtype_name(const Job& job) {
  switch (job.params_dtype) {
    case ParamsType::kBf16:
      return "BFloat16";
    case ParamsType::kFp16:
      return "Half";
    case ParamsType::kFp32:
      break;
  }
  return "Float";
}

}  // namespace lumos

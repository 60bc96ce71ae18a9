#include "lumos/trace/table/kernel_family.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "lumos/trace/table/collective_names.h"

namespace lumos {

namespace {

struct Pattern {
  std::string_view part;  ///< lower case
  KernelFamily family;
};

// The first match decides, so what says more comes first: a fused norm that mentions "add" is a norm, the L2 norm of
// an optimizer is the optimizer's. Parts are of PyTorch, cuBLAS, cuDNN, CUTLASS, Tensile, MIOpen, CK, Triton as
// Inductor names it, Apex, Transformer Engine, FlashAttention, vLLM and SGLang.
constexpr Pattern kPatterns[] = {
    {"multi_tensor_apply", KernelFamily::kOptimizer},
    {"adam", KernelFamily::kOptimizer},
    {"sgd_", KernelFamily::kOptimizer},
    {"adagrad", KernelFamily::kOptimizer},
    {"flash", KernelFamily::kAttention},
    {"fmha", KernelFamily::kAttention},
    {"attention", KernelFamily::kAttention},
    {"attn", KernelFamily::kAttention},
    {"mla_", KernelFamily::kAttention},
    {"softmax", KernelFamily::kSoftmax},
    {"nll_loss", KernelFamily::kSoftmax},
    {"cross_entropy", KernelFamily::kSoftmax},
    {"norm", KernelFamily::kNorm},
    {"::ln_", KernelFamily::kNorm},
    {"bn_fw", KernelFamily::kNorm},
    {"bn_bw", KernelFamily::kNorm},
    {"batchnorm", KernelFamily::kNorm},
    {"topk", KernelFamily::kSort},
    {"sort", KernelFamily::kSort},
    {"scan", KernelFamily::kSort},
    {"routing", KernelFamily::kSort},
    {"cub::", KernelFamily::kSort},
    {"embedding", KernelFamily::kEmbedding},
    {"index", KernelFamily::kEmbedding},
    {"gather", KernelFamily::kEmbedding},
    {"scatter", KernelFamily::kEmbedding},
    {"fprop", KernelFamily::kConvolution},
    {"dgrad", KernelFamily::kConvolution},
    {"wgrad", KernelFamily::kConvolution},
    {"conv", KernelFamily::kConvolution},
    {"winograd", KernelFamily::kConvolution},
    {"cudnn", KernelFamily::kConvolution},
    {"miopen", KernelFamily::kConvolution},
    {"igemm", KernelFamily::kConvolution},
    {"pool", KernelFamily::kReduction},
    {"gemm", KernelFamily::kGemm},
    {"gemv", KernelFamily::kGemm},
    {"splitkreduce", KernelFamily::kGemm},
    {"cijk_", KernelFamily::kGemm},
    {"nvjet", KernelFamily::kGemm},
    {"matmul", KernelFamily::kGemm},
    {"cutlass", KernelFamily::kGemm},
    {"reduce_kernel", KernelFamily::kReduction},
    {"triton_red", KernelFamily::kReduction},
    {"triton_per", KernelFamily::kReduction},
    {"elementwise", KernelFamily::kElementwise},
    {"triton_poi", KernelFamily::kElementwise},
    {"dropout", KernelFamily::kElementwise},
    {"act_and_mul", KernelFamily::kElementwise},
    {"rope", KernelFamily::kElementwise},
    {"rotary", KernelFamily::kElementwise},
    {"catarray", KernelFamily::kElementwise},
};

}  // namespace

std::string_view family_name(KernelFamily family) {
  switch (family) {
    case KernelFamily::kGemm:
      return "GEMM";
    case KernelFamily::kConvolution:
      return "convolution";
    case KernelFamily::kAttention:
      return "attention";
    case KernelFamily::kNorm:
      return "norm";
    case KernelFamily::kSoftmax:
      return "softmax and loss";
    case KernelFamily::kEmbedding:
      return "embedding and indexing";
    case KernelFamily::kOptimizer:
      return "optimizer";
    case KernelFamily::kReduction:
      return "reduction";
    case KernelFamily::kElementwise:
      return "element-wise";
    case KernelFamily::kSort:
      return "sort and routing";
    case KernelFamily::kCopy:
      return "copy";
    case KernelFamily::kFill:
      return "fill";
    case KernelFamily::kCommunication:
      return "communication";
    case KernelFamily::kOther:
      break;
  }
  return "other kernels";
}

KernelFamily kernel_family(std::string_view name) {
  if (is_communication_kernel(name)) return KernelFamily::kCommunication;
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  // "_rotary_embedding" turns positions, it looks nothing up; "direct_copy" of PyTorch is element-wise.
  if (lower.find("rotary") != std::string::npos) return KernelFamily::kElementwise;
  for (const Pattern& pattern : kPatterns) {
    if (lower.find(pattern.part) != std::string::npos) return pattern.family;
  }
  return KernelFamily::kOther;
}

KernelFamily row_family(const EventTable& table, size_t row) {
  if (table.collective_detail(row) != nullptr) return KernelFamily::kCommunication;
  if (table.kind[row] == EventKind::kMemcpy) return KernelFamily::kCopy;
  if (table.kind[row] == EventKind::kMemset) return KernelFamily::kFill;
  return kernel_family(table.name_of(row));
}

}  // namespace lumos

#include "lumos/trace/words/kernel_meaning.h"

#include <algorithm>
#include <optional>

namespace lumos {

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Substrings, because names come with namespaces, template arguments and return types around them.
constexpr std::string_view kCommunication[] = {
    "ncclKernel",         // NCCL before 2.19
    "ncclDevKernel",      // NCCL since; RCCL too
    "ncclSym",            // NCCL symmetric-memory kernels
    "rcclGenericKernel",  //
    "msccl",              // MSCCL and MSCCL++
    "nvshmem",            //
    "cross_device_",      // vLLM, SGLang and AITER custom all-reduce and reduce-scatter
    "multimem",           // in-switch reduction
    "oneccl_",            // oneCCL on Intel GPUs
    "hcom_",              // HCCL on Ascend
    "shot_all_reduce",    // PyTorch symmetric memory: one_shot_, two_shot_
};

struct TraitRow {
  std::string_view part;
  KernelTrait trait;
};

// All that match count.
constexpr TraitRow kTraits[] = {
    {"flash", KernelTrait::kAttention},
    {"fmha", KernelTrait::kAttention},
    {"attention", KernelTrait::kAttention},
    {"Attention", KernelTrait::kAttention},
    {"softmax", KernelTrait::kAttention},
    {"Softmax", KernelTrait::kAttention},
    {"SoftMax", KernelTrait::kAttention},
    {"oftmax", KernelTrait::kSoftmax},
    {"oftMax", KernelTrait::kSoftmax},
    {"gemm", KernelTrait::kProductLibrary},
    {"Gemm", KernelTrait::kProductLibrary},
    {"GEMM", KernelTrait::kProductLibrary},
    {"cutlass", KernelTrait::kProductLibrary},
    {"wgmma", KernelTrait::kProductLibrary},
    {"nvjet", KernelTrait::kProductLibrary},
    {"Cijk_", KernelTrait::kProductLibrary},
    {"splitKreduce", KernelTrait::kSplitSum},
    {"ReduceSplitK", KernelTrait::kSplitSum},
    {"PostGSU", KernelTrait::kSplitSum},
    {"reduce", KernelTrait::kReduces},
    {"multi_tensor_apply", KernelTrait::kOptimizer},
    {"Adam", KernelTrait::kOptimizer},
    {"adam_", KernelTrait::kOptimizer},
    {"HtoD", KernelTrait::kHostToDevice},
};

// Copies many tensors at once, which servers do with a batch's inputs: no optimizer by itself.
constexpr std::string_view kCopyOfMany = "at::native::Copy<";

struct TypeRow {
  std::string_view part;
  ElementType type;
};

// The first match decides.
constexpr TypeRow kProductTypes[] = {
    {"bf16", ElementType::kBFloat16}, {"fp16", ElementType::kFloat16},   {"_f16", ElementType::kFloat16},
    {"hgemm", ElementType::kFloat16}, {"_sgemm", ElementType::kFloat32},
};

constexpr std::string_view kRmsNorms[] = {"rmsnorm", "rms_norm", "RMSNorm", "RmsNorm"};
constexpr std::string_view kLayerNorms[] = {"::ln_", "layernorm", "layer_norm", "LayerNorm"};

template <size_t N>
bool holds_any(std::string_view name, const std::string_view (&parts)[N]) {
  return std::any_of(std::begin(parts), std::end(parts), [&](std::string_view part) { return contains(name, part); });
}

/// PyTorch runs both kinds in its kernels of LayerNorm, f<T, T_ACC, rms_norm>; nothing where the last argument is not
/// such a switch. Kernels of more arguments end with other switches.
NormKind norm_of_native_name(std::string_view name) {
  const size_t begin = name.find('<', name.find("layer_norm"));
  const size_t end = begin == std::string_view::npos ? begin : name.find('>', begin);
  if (end == std::string_view::npos) return NormKind::kUnknown;
  const std::string_view arguments = name.substr(begin + 1, end - begin - 1);
  if (std::count(arguments.begin(), arguments.end(), ',') != 2) return NormKind::kUnknown;
  std::string_view last = arguments.substr(arguments.rfind(',') + 1);
  for (std::string_view prefix : {" ", "rms_norm=", "(bool)"})
    if (last.starts_with(prefix)) last.remove_prefix(prefix.size());
  if (last == "true" || last == "1") return NormKind::kRootMeanSquare;
  return last == "false" || last == "0" ? NormKind::kLayer : NormKind::kUnknown;
}

/// Operators that serve both kinds do not tell, nor do norms in parts.
NormKind norm_of_name(std::string_view name) {
  if (contains(name, "at::native::")) return norm_of_native_name(name);
  if (holds_any(name, kRmsNorms)) return NormKind::kRootMeanSquare;
  return holds_any(name, kLayerNorms) ? NormKind::kLayer : NormKind::kUnknown;
}

ElementType product_type_of_name(std::string_view name) {
  for (const TypeRow& row : kProductTypes) {
    if (contains(name, row.part)) return row.type;
  }
  return ElementType::kUnknown;
}

}  // namespace

bool is_communication_kernel(std::string_view name) {
  // HcclAllreduce and its like: an operator of its own in programs that are compiled as a whole.
  if (name.starts_with("Hccl") || holds_any(name, kCommunication)) return true;
  return contains(name, "deep_ep") && (contains(name, "dispatch") || contains(name, "combine"));
}

KernelMeaning kernel_meaning(std::string_view name) {
  KernelMeaning meaning;
  meaning.known = true;
  meaning.family = kernel_family(name);
  meaning.communicates = meaning.family == KernelFamily::kCommunication;
  meaning.collective = kind_of_kernel_name(name);
  if (meaning.family == KernelFamily::kNorm) meaning.norm = norm_of_name(name);
  if (meaning.family == KernelFamily::kGemm) meaning.product_type = product_type_of_name(name);
  for (const TraitRow& row : kTraits) {
    if (contains(name, row.part)) meaning.traits |= static_cast<uint16_t>(row.trait);
  }
  if (meaning.is(KernelTrait::kOptimizer) && contains(name, kCopyOfMany) && !contains(name, "Adam")) {
    meaning.traits &= static_cast<uint16_t>(~static_cast<uint16_t>(KernelTrait::kOptimizer));
  }
  return meaning;
}

std::string_view short_collective_name(std::string_view kernel_name) {
  constexpr std::string_view kPrefix = "Kernel_";
  const std::string_view bare = kernel_name.substr(0, kernel_name.find_first_of("(<"));
  const size_t kernel = bare.find(kPrefix);
  if (kernel == std::string_view::npos) return bare;
  const std::string_view rest = bare.substr(kernel + kPrefix.size());
  return rest.substr(0, rest.find('_'));
}

}  // namespace lumos

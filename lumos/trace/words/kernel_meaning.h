// What a kernel, copy or fill on a GPU stream is, by its name: one row per pattern in kernel_meaning.cc and
// kernel_family.cc. Looked up once per distinct name (see lexicon.h); above trace/ nobody reads kernels' names but to
// show them.
#pragma once

#include <cstdint>
#include <string_view>

#include "lumos/trace/words/collective_kind.h"
#include "lumos/trace/words/element_type.h"
#include "lumos/trace/words/kernel_family.h"

namespace lumos {

/// What a name says besides the family; bits of a set.
enum class KernelTrait : uint16_t {
  kAttention = 1u << 0,       ///< a part of attention, its softmax included
  kSoftmax = 1u << 1,         ///< of attention or of a loss
  kProductLibrary = 1u << 2,  ///< made by a library of matrix products
  kSplitSum = 1u << 3,        ///< adds up the parts of a product whose sum over K was split: no product of its own
  kReduces = 1u << 4,
  kOptimizer = 1u << 5,
  kHostToDevice = 1u << 6,  ///< a copy to the GPU
};

/// Which norm a kernel of one computes.
enum class NormKind : uint8_t { kUnknown, kLayer, kRootMeanSquare };

struct KernelMeaning {
  bool known = false;         ///< the name was looked up
  bool communicates = false;  ///< a communication library's
  KernelFamily family = KernelFamily::kOther;
  CollectiveKind collective = CollectiveKind::kUnknown;  ///< if it communicates
  NormKind norm = NormKind::kUnknown;                    ///< if it is a norm
  ElementType product_type = ElementType::kUnknown;      ///< if it is a product: of its factors
  uint16_t traits = 0;

  bool is(KernelTrait trait) const { return (traits & static_cast<uint16_t>(trait)) != 0; }
  /// Fused attention kernels name the library that products come from, too.
  bool is_product() const {
    return is(KernelTrait::kProductLibrary) && !is(KernelTrait::kAttention) && !is(KernelTrait::kSplitSum);
  }
  /// Attention as one kernel; a softmax is a part of it.
  bool is_fused_attention() const { return is(KernelTrait::kAttention) && !is(KernelTrait::kSoftmax); }
};

/// The meaning of a name, looked up anew.
KernelMeaning kernel_meaning(std::string_view name);

/// True for kernels of NCCL, RCCL, oneCCL, HCCL, MSCCL, NVSHMEM, DeepEP dispatch and combine, custom all-reduces and
/// multimem.
bool is_communication_kernel(std::string_view name);

/// What people call a collective by its kernel: of "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)" "AllReduce", of other
/// names what is before brackets.
std::string_view short_collective_name(std::string_view kernel_name);

}  // namespace lumos

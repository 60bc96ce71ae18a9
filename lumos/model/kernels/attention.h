// How long fused (flash) attention takes: by FLOPs, half of them when causal, by the length of the sequences and by the
// waves of its blocks. Attention that is not fused is two batched GEMMs with element-wise kernels between them and
// needs no model of its own; see layer_work.h.
#pragma once

#include <cstdint>

#include "lumos/model/cluster/cluster.h"

namespace lumos {

/// One attention kernel over `batch` sequences.
struct AttentionShape {
  int64_t batch = 1;
  int64_t query_length = 0;
  int64_t key_length = 0;
  int64_t heads = 0;      ///< query heads on this GPU
  int64_t key_heads = 0;  ///< key and value heads on this GPU
  int64_t head_size = 0;
  bool causal = true;
  bool backward = false;
  int64_t element_bytes = 2;

  bool operator==(const AttentionShape&) const = default;
};

/// Products of the kernel itself: two forward; five backward, of which one is the recomputed scores.
double attention_flops(const AttentionShape& shape);

/// Microseconds on an otherwise idle GPU, at least gpu.kernel_floor_us.
double attention_us(const AttentionShape& shape, const Gpu& gpu);

}  // namespace lumos

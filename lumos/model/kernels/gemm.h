// How long a matrix product takes: its output is cut into tiles, the tiles go over the multiprocessors in waves, and
// each wave runs down K. Few constants, all in Gpu, so that they can be fitted on a trace or on measured steps.
#pragma once

#include <cstdint>

#include "lumos/model/cluster/cluster.h"

namespace lumos {

/// C[m,n] += A[m,k] B[k,n], `batch` times, with 16-bit elements unless said otherwise. Of a linear layer m counts the
/// rows, one per token, and memory runs along the features: along n and k, or, where the sum goes over the rows (the
/// gradient of a weight), along m and n.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
  int64_t element_bytes = 2;
  bool sums_rows = false;

  bool operator==(const GemmShape&) const = default;
};

/// 2 m n k batch.
double gemm_flops(const GemmShape& shape);

/// Bytes read and written when every operand moves once.
double gemm_bytes(const GemmShape& shape);

/// Microseconds on an otherwise idle GPU, at least gpu.kernel_floor_us. Grows with m, n, k and batch.
double gemm_us(const GemmShape& shape, const Gpu& gpu);

}  // namespace lumos

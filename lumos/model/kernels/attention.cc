#include "lumos/model/kernels/attention.h"

#include <algorithm>

#include "lumos/model/kernels/waves.h"

namespace lumos {
namespace {

/// The backward kernel reaches less of the peak than the forward one: it keeps five products' operands in shared memory
/// and adds the gradient of the queries atomically. FlashAttention-2 (Dao 2023, figure 5) shows 0.75 to 0.85.
constexpr double kBackwardShare = 0.8;

/// A block of queries goes over the keys, backward one of keys over the queries. It fills and drains its pipeline, and
/// with a causal mask computes the blocks on the diagonal whole: as if it had so many more of them to go over. From the
/// speeds by length of FlashAttention-2 on H100, head size 128 (Shah et al. 2024, figures 5 and 6).
double edge(const AttentionShape& shape, bool causal) {
  constexpr double kForward = 64, kBackward = 256, kMasked = 256;
  return (shape.backward ? kBackward : kForward) + (causal ? kMasked : 0);
}

/// Speed over that of causal sequences of 4096, which is what gpu.attention_peak_fraction says.
double length_share(const AttentionShape& shape) {
  constexpr double kUsualLength = 4096;
  const auto share = [](double length, double more) { return length / (length + more); };
  const auto length = static_cast<double>(shape.backward ? shape.query_length : shape.key_length);
  return share(length, edge(shape, shape.causal)) / share(kUsualLength, edge(shape, true));
}

/// FLOPs in the time of which a full GPU does the kernel's. A block works on 128 queries of a head, backward on 128
/// keys (FlashAttention-2, section 3.2), whether or not there are so many: short sequences of few heads leave
/// multiprocessors without work.
double flops_of_full_gpu(const AttentionShape& shape, const Gpu& gpu) {
  constexpr int64_t kRowsPerBlock = 128;
  const int64_t rows = shape.backward ? shape.key_length : shape.query_length;
  const int64_t blocks = shape.batch * shape.heads * ((rows + kRowsPerBlock - 1) / kRowsPerBlock);
  if (blocks <= 0) return 0;
  const double block_flops = attention_flops(shape) * static_cast<double>(kRowsPerBlock) /
                             static_cast<double>(shape.batch * shape.heads * rows);
  const auto multiprocessors = static_cast<double>(gpu.sm_count);
  return block_flops * multiprocessors * rounds_of_blocks(static_cast<double>(blocks), multiprocessors);
}

}  // namespace

double attention_flops(const AttentionShape& shape) {
  const double pairs = static_cast<double>(shape.batch * shape.heads) * static_cast<double>(shape.query_length) *
                       static_cast<double>(shape.key_length) * (shape.causal ? 0.5 : 1.0);
  const double products = shape.backward ? 5 : 2;
  return 2.0 * products * pairs * static_cast<double>(shape.head_size);
}

double attention_us(const AttentionShape& shape, const Gpu& gpu) {
  const double share =
      std::min(1.0, gpu.attention_peak_fraction * length_share(shape)) * (shape.backward ? kBackwardShare : 1.0);
  const double math_us = flops_of_full_gpu(shape, gpu) / (peak_tflops(gpu, shape.element_bytes) * 1e6 * share);
  const double queries = static_cast<double>(shape.batch * shape.query_length * shape.heads * shape.head_size);
  const double keys = static_cast<double>(shape.batch * shape.key_length * shape.key_heads * shape.head_size);
  // Forward: read Q, K, V and write O. Backward: the same with their gradients.
  const double bytes = static_cast<double>(shape.element_bytes) * (2 * queries + 2 * keys) * (shape.backward ? 2 : 1);
  const double memory_us = bytes / (gpu.memory_gb_per_s * gpu.memory_peak_fraction * 1e3);
  return gpu.kernel_floor_us + std::max(math_us, memory_us);
}

}  // namespace lumos

#include "lumos/model/kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lumos/model/kernels/waves.h"

namespace lumos {
namespace {

/// An output tile that libraries offer, and its share of the peak when K is long. Smaller tiles re-read their operands
/// more often per product, so they reach less; the shares are those of CUTLASS's tile sizes on Ampere and later.
struct Tile {
  int64_t m, n;
  double share;
};
constexpr Tile kTiles[] = {{256, 128, 1.0}, {128, 256, 1.0}, {128, 192, 0.96}, {128, 128, 0.92},
                           {128, 64, 0.75}, {64, 128, 0.75}, {64, 64, 0.6}};

/// Ways to cut K among multiprocessors when there are fewer tiles than those.
constexpr int64_t kSplits[] = {1, 2, 4, 8};

/// Wide loads and stores need lines that begin at multiples of 16 bytes: cuBLAS from version 11 on takes any size, but
/// wants the extents along which memory runs, and those alone, to be such multiples (cuBLAS documentation, "Tensor Core
/// Usage"). How many rows there are does not matter. Each halving of the alignment below that costs the same factor,
/// down to gemm_unaligned_fraction for lines of odd 16-bit elements.
double alignment_share(const GemmShape& shape, const Gpu& gpu) {
  constexpr int64_t kWideBytes = 16;
  int64_t bytes = std::gcd(kWideBytes, shape.n * shape.element_bytes);
  bytes = std::gcd(bytes, (shape.sums_rows ? shape.m : shape.k) * shape.element_bytes);
  const double halvings = std::log2(static_cast<double>(kWideBytes / bytes));
  return std::pow(gpu.gemm_unaligned_fraction, halvings / 3);
}

/// Products of 32-bit numbers reach the same share of their own, lower peak.
double peak_flops_per_us(const GemmShape& shape, const Gpu& gpu) {
  return peak_tflops(gpu, shape.element_bytes) * 1e6 * gpu.gemm_peak_fraction * alignment_share(shape, gpu);
}

double tiled_us(const GemmShape& shape, const Tile& tile, int64_t split, const Gpu& gpu) {
  const auto pieces = [](int64_t extent, int64_t of) { return static_cast<double>((extent + of - 1) / of); };
  const double tiles = pieces(shape.m, tile.m) * pieces(shape.n, tile.n) * static_cast<double>(shape.batch * split);
  const double sms = static_cast<double>(gpu.sm_count);
  const double waves = rounds_of_blocks(tiles, sms);
  const double k = static_cast<double>(shape.k) / static_cast<double>(split);
  const double tile_flops = 2.0 * static_cast<double>(tile.m * tile.n) * k;
  const double wave_us = tile_flops * sms / (peak_flops_per_us(shape, gpu) * tile.share);
  // The partial sums of a split K go through memory once more, in fp32.
  const double sum_bytes =
      split == 1 ? 0 : 8.0 * static_cast<double>(shape.m * shape.n * shape.batch) * static_cast<double>(split);
  return waves * wave_us + waves * gpu.gemm_tile_start_us +
         sum_bytes / (gpu.memory_gb_per_s * gpu.memory_peak_fraction * 1e3);
}

}  // namespace

double gemm_flops(const GemmShape& shape) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k) *
         static_cast<double>(shape.batch);
}

double gemm_bytes(const GemmShape& shape) {
  const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  return (m * k + k * n + m * n) * static_cast<double>(shape.batch * shape.element_bytes);
}

double gemm_us(const GemmShape& shape, const Gpu& gpu) {
  double math_us = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    for (int64_t split : kSplits) math_us = std::min(math_us, tiled_us(shape, tile, split, gpu));
  }
  const double memory_us = gemm_bytes(shape) / (gpu.memory_gb_per_s * gpu.memory_peak_fraction * 1e3);
  return gpu.kernel_floor_us + std::max(math_us, memory_us);
}

}  // namespace lumos

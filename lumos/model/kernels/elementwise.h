// How long kernels take that only move data: norms, activations, dropout, residuals, copies, optimizer steps. Bytes
// over the bandwidth such kernels reach, with a floor.
#pragma once

#include <algorithm>

#include "lumos/model/cluster/cluster.h"

namespace lumos {

/// Microseconds to read and write `bytes` in all, in `kernels` launches of equal size.
inline double elementwise_us(double bytes, const Gpu& gpu, double kernels = 1) {
  return kernels * gpu.kernel_floor_us + bytes / (gpu.memory_gb_per_s * gpu.memory_peak_fraction * 1e3);
}

}  // namespace lumos

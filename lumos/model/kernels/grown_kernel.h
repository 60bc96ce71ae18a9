// How long a measured kernel takes when there is more or less of the same work: another batch, another share of it. A
// fixed part stays, and the rest goes with the waves in which its blocks fill the GPU. Read by whatif/scale_batch.
#pragma once

#include <algorithm>

#include "lumos/model/kernels/waves.h"

namespace lumos {

/// One kernel as it was measured.
struct MeasuredKernel {
  double us = 0;
  double floor_us = 0;    ///< what such a kernel takes with next to no work; of shorter ones all is fixed
  double waves = 0;       ///< blocks over what fills the GPU; 0: not known
  double full_waves = 1;  ///< from here on more blocks take longer; fewer run beside each other, each at its own pace
  bool in_rounds =
      false;  ///< long blocks of equal work, as tiles of a product: the last round costs nearly a whole one
};

/// How long blocks take, in units of what fills the GPU.
inline double filled_waves(double waves, const MeasuredKernel& kernel) {
  const double least = std::max(kernel.full_waves, waves);
  return kernel.in_rounds ? rounds(least) : least;
}

/// Microseconds with `work` times the work in `blocks` times the blocks; the two differ where each block does more.
inline double grown_us(const MeasuredKernel& kernel, double work, double blocks) {
  const double fixed_us = std::min(kernel.us, kernel.floor_us);
  double ratio = work;
  if (kernel.waves > 0 && blocks > 0) {
    ratio = work / blocks * filled_waves(kernel.waves * blocks, kernel) / filled_waves(kernel.waves, kernel);
  }
  return fixed_us + (kernel.us - fixed_us) * ratio;
}

}  // namespace lumos

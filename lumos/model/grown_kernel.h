// How long a measured kernel takes when there is more or less of the same work: another batch, another share of it. A
// fixed part stays, and the rest goes with the waves in which its blocks fill the GPU. Read by whatif/scale_batch.
#pragma once

#include <algorithm>
#include <cmath>

namespace lumos {

/// One kernel as it was measured.
struct MeasuredKernel {
  double us = 0;
  double floor_us = 0;  ///< what even an empty kernel takes on this GPU; of shorter ones all is fixed
  double waves = 0;     ///< blocks over what the GPU holds at once; 0: not known
  bool tiled = false;   ///< long blocks in step, as of matrix products: the last wave costs nearly a whole one
};

/// Time units of `waves` rounds of blocks. Fewer blocks than fit take as long as those that fit: each runs by itself.
inline double filled_waves(double waves, bool tiled) {
  const double least = std::max(1.0, waves);
  return tiled ? 0.5 * std::ceil(least) + 0.5 * least : least;
}

/// Microseconds with `work` times the work in `blocks` times the blocks; the two differ where each block does more.
inline double grown_us(const MeasuredKernel& kernel, double work, double blocks) {
  const double fixed_us = std::min(kernel.us, kernel.floor_us);
  double ratio = work;
  if (kernel.waves > 0 && blocks > 0) {
    ratio =
        work / blocks * filled_waves(kernel.waves * blocks, kernel.tiled) / filled_waves(kernel.waves, kernel.tiled);
  }
  return fixed_us + (kernel.us - fixed_us) * ratio;
}

}  // namespace lumos

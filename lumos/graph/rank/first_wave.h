// A communication kernel that becomes ready just after a compute kernel has begun elsewhere finds no room on the GPU:
// it starts when that kernel's first blocks end. Found where the trace shows it; read by graph/build.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/rank/rank_programs.h"

namespace lumos {

struct FirstWaves {
  std::vector<FirstWave> waits;
  double share = 0;  ///< fitted: the part of duration / waves that the waiting kernel is held
  uint64_t samples = 0;
};

FirstWaves find_first_waves(const RankPrograms& programs);

/// The same from the other side: a kernel of equal priority waits on another stream until the running kernel's blocks
/// have all been placed, most of its duration. Believed for pairs of kernel names that repeat and are always held to
/// the same part of the running kernel.
std::vector<FirstWave> find_drains(const RankPrograms& programs);

}  // namespace lumos

// How much times vary by chance: as somebody says, or as the trace shows it where equal work was done several times.
// Made for whatif/jitter.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/job/job.h"

namespace lumos {

/// By task, in the numbering of the job's graph. Sigmas are standard deviations of the logarithm of a time.
struct Spread {
  std::vector<float> sigma;   ///< of the task itself; 0: it does not vary
  std::vector<float> centre;  ///< the mean time of equal work over what this task took, so that chance counts once
  std::vector<uint32_t> rank_step;  ///< what else it varies with: its rank in its step; kNoIndex: nothing
  float rank_sigma = 0;             ///< of a rank from step to step, beyond what its kernels explain
  double kernel_sigma = 0;          ///< means over the time of kernels and of transfers, for people
  double link_sigma = 0;
  uint64_t fitted = 0;  ///< tasks whose spread is that of their own repetitions; the others have the mean one
};

/// The same sigma for every kernel, copy, fill and transfer.
Spread uniform_spread(const ExecGraph& graph, double sigma);

/// Kernels that repeat on a rank (name, grid, operator's shapes), transfers that repeat in a group (kind, bytes), and
/// ranks that are slower or faster as a whole from step to step. What happens once has the mean spread of its sort.
/// O(tasks log tasks).
Spread fit_spread(const LinkedJob& job);

}  // namespace lumos

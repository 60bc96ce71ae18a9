// `--scale-batch K`: the same job with K times the samples in each step. Every kernel that works on the batch is timed
// again by what it does; parameters, the optimizer, launches and the host stay. Made for whatif/change.
#pragma once

#include <cstdint>

#include "lumos/base/result.h"
#include "lumos/graph/job/job.h"
#include "lumos/whatif/times/retiming.h"

namespace lumos {

struct BatchScale {
  double factor = 1;
  int64_t batch_size = 0;  ///< of the traced job; 0: as found in the shapes
};

/// Kernels keep a fixed part, which the trace's own small kernels tell, and the rest goes with their waves of blocks.
/// Transfers of activations keep their latency. Errors: kUsage where no rank has recorded shapes.
Result<Retiming> scale_batch(const LinkedJob& job, const BatchScale& scale);

}  // namespace lumos

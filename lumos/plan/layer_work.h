// The kernels of a plan's ops on one GPU, with the sizes that the plan gives them; kernel_work.h gives times. Read by
// estimates and by whoever writes a trace that nobody has recorded.
#pragma once

#include <vector>

#include "lumos/model/kernels/kernel_work.h"
#include "lumos/plan/ops/plan.h"

namespace lumos {

/// Forward and backward of one micro-batch on one rank, in order of issue, without what recomputation repeats.
struct LayerWork {
  std::vector<KernelWork> forward;
  std::vector<KernelWork> backward;
};

/// The kernels of `ops` in their order; collectives of a single rank are left out.
std::vector<KernelWork> kernel_work(const std::vector<Op>& ops, const Plan& plan);

LayerWork layer_work(const ModelPart& part, const Plan& plan);

}  // namespace lumos

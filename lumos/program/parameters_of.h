// Parameters that a pipeline stage holds, relative to another: what the optimizer, the gradient buckets and the zeroing
// of gradients scale with.
#pragma once

#include "lumos/model/job.h"

namespace lumos {

/// Parameters of one transformer layer on one tensor-parallel rank.
double layer_parameters(const Job& job);

/// Parameters of `layers` layers and of the model's ends that the stage holds, on one tensor-parallel rank.
double stage_parameters(const Job& job, int64_t layers, bool first, bool last);

}  // namespace lumos

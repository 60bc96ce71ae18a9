// The plan of a job: the unsharded model, then each of the job's strategies in turn. Read by all that knows a job and
// no trace of it.
#pragma once

#include "lumos/model/job/job.h"
#include "lumos/plan/ops/plan.h"

namespace lumos {

/// The plan of a valid job whose nodes have `gpus_per_node` GPUs.
Plan plan_of(const Job& job, int64_t gpus_per_node);

/// Only the forward ops, cut: what counts of parameters need.
Plan plan_of_weights(const Job& job);

/// The same model on one GPU, with nothing cut.
Plan unsharded_plan(const Job& job);

/// Why the job cannot be planned, or success: what its strategies check.
Status check_plan(const Job& job);

}  // namespace lumos

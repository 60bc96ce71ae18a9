// What follows the last backward pass on one GPU: the optimizer's passes over its state; and the collectives that carry
// gradients and parameters between replicas, bucket by bucket.
#pragma once

#include <vector>

#include "lumos/model/job/job.h"
#include "lumos/model/kernels/kernel_work.h"
#include "lumos/plan/ops/plan.h"

namespace lumos {

/// Bytes of one gradient as it is accumulated and reduced.
double gradient_bytes(const Job& job);

/// Bytes per parameter that one optimizer step reads and writes: unscaling, norm and clipping, the update itself, and
/// the copy to the model's type.
double optimizer_bytes_per_parameter(const Job& job, const Plan& plan);

/// The optimizer's kernels for a stage of `parameters`, on this GPU's share of its state, and clearing the gradients.
std::vector<KernelWork> optimizer_work(const Job& job, const Plan& plan, double parameters);

/// The exchange for a bucket of `parameters`.
KernelWork exchange_work(const Plan& plan, const ParameterExchange& exchange, double parameters);

}  // namespace lumos

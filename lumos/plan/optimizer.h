// What follows the last backward pass: reducing gradients over the replicas, the optimizer's passes over its state, and
// gathering the parameters that a distributed optimizer has updated in parts.
#pragma once

#include <vector>

#include "lumos/model/job/job.h"
#include "lumos/model/kernels/kernel_work.h"

namespace lumos {

/// Parameters whose optimizer state one GPU keeps, of `parameters` that it holds.
double optimizer_share(const Job& job, double parameters);

/// Bytes per parameter that one optimizer step reads and writes: unscaling, norm and clipping, the update itself, the
/// 16-bit copy, and clearing the gradients.
double optimizer_bytes_per_parameter(const Job& job);

/// Bytes of one gradient as it is accumulated and reduced.
double gradient_bytes(const Job& job);

/// The optimizer's kernels for a stage that holds `parameters`, on this GPU's share.
std::vector<KernelWork> optimizer_work(const Job& job, double parameters);

/// Reducing the gradients of `parameters` over the replicas: all-reduce, or reduce-scatter for a distributed optimizer,
/// in `buckets` collectives of equal size.
KernelWork gradient_reduction(const Job& job, const Cluster& cluster, double parameters, int64_t buckets);

/// Gathering the updated parameters; a group of one where nothing is distributed.
KernelWork parameter_gather(const Job& job, const Cluster& cluster, double parameters, int64_t buckets);

/// Buckets into which Megatron cuts `parameters` where reduction is overlapped with the backward pass, else 1.
int64_t gradient_buckets(const Job& job, double parameters);

}  // namespace lumos

// Where ranks sit: Megatron numbers them so that the first axis of rank_order varies fastest, and nodes hold
// consecutive ranks. Read by whoever needs to know which collectives leave a node.
#pragma once

#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/job.h"
#include "lumos/model/kernels/collective.h"

namespace lumos {

enum class ParallelAxis : uint8_t { kTensor, kPipeline, kData };

/// Members along `axis`.
int64_t axis_size(const Job& job, ParallelAxis axis);

/// Ranks between neighbours along `axis`. Axes that rank_order does not name come last.
int64_t axis_stride(const Job& job, ParallelAxis axis);

/// The group along `axis` on nodes of the cluster's size.
GroupShape axis_group(const Job& job, const Cluster& cluster, ParallelAxis axis);

/// Two stages of a pipeline, the first replica's for all: within a node or not.
GroupShape stage_pair(const Job& job, const Cluster& cluster, int64_t one, int64_t other);

/// All tensor-parallel ranks of all stages of a replica, Megatron's model-parallel group.
GroupShape model_group(const Job& job, const Cluster& cluster);

/// Rank of the given position.
int64_t rank_at(const Job& job, int64_t tensor, int64_t pipeline, int64_t data);

}  // namespace lumos

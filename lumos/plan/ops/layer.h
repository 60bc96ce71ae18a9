// The unsharded transformer model as lists of ops: one layer, the embedding, the head with its loss. The one place that
// says what a model of the job's settings computes, moves, has as parameters and keeps for its backward pass (kept
// tensors: Korthikanti et al. 2022, section 4, extended to GQA, SwiGLU and fused attention). Read by plan_of.
#pragma once

#include "lumos/model/job/job.h"
#include "lumos/plan/ops/op.h"

namespace lumos {

ModelPart layer_ops(const Job& job);

/// Token and position embedding.
ModelPart embedding_ops(const Job& job);

/// Final norm, logits and cross entropy.
ModelPart head_ops(const Job& job);

}  // namespace lumos

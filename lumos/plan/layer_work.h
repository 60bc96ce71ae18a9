// The kernels of a GPT or Llama-style model on one GPU, as Megatron runs them: one transformer layer, the embedding,
// the head with its loss, and what a step does after the last backward pass. Made from a Job alone; kernel_work.h gives
// times.
#pragma once

#include <vector>

#include "lumos/model/job/job.h"
#include "lumos/model/kernels/kernel_work.h"

namespace lumos {

/// Forward and backward of one micro-batch on one tensor-parallel rank, in order of issue. Recomputation is not part of
/// it: full recomputation is the forward list again, selective the attention_core_work list.
struct LayerWork {
  std::vector<KernelWork> forward;
  std::vector<KernelWork> backward;
};

LayerWork transformer_layer_work(const Job& job, const Cluster& cluster);

/// What selective recomputation repeats: scores, softmax, dropout and context, or the fused kernel.
std::vector<KernelWork> attention_core_work(const Job& job);

/// Token and position embedding on the first stage.
LayerWork embedding_work(const Job& job, const Cluster& cluster);

/// Final norm, logits and cross entropy on the last stage.
LayerWork head_work(const Job& job, const Cluster& cluster);

}  // namespace lumos

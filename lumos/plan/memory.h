// What a GPU of each pipeline stage must hold at the worst moment of a step, term by term: parameters, gradients,
// optimizer state, activations of the micro-batches in flight, the loss, and what the backward pass needs besides.
// Counted from the tensors that autograd keeps (Korthikanti et al. 2022, section 4, extended to GQA, SwiGLU and fused
// attention); no constant is fitted. Read by estimates and searches, which refuse what does not fit.
#pragma once

#include <string>
#include <vector>

#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/job.h"
#include "lumos/plan/ops/plan.h"

namespace lumos {

/// Bytes on one GPU of a stage. The peak is the sum: all terms are held at once when the last forward pass in flight
/// ends and the first backward pass begins.
struct StageMemory {
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  ///< kept for the backward passes in flight
  double loss = 0;         ///< logits and cross entropy, last stage
  double workspace = 0;    ///< gradients of activations, gathered sequences, a recomputed layer

  double peak() const { return parameters + gradients + optimizer + activations + loss + workspace; }
};

/// One entry per pipeline stage.
std::vector<StageMemory> stage_memory(const Job& job, const Plan& plan);
std::vector<StageMemory> stage_memory(const Job& job);

/// Bytes that autograd keeps of one transformer layer and micro-batch without recomputation.
double layer_activation_bytes(const Job& job);

/// The same of what selective recomputation drops.
double attention_core_activation_bytes(const Job& job);

/// "" when every stage fits the GPU, else "does not fit in 80 GiB: 97.0 GiB on stage 0".
std::string memory_shortage(const std::vector<StageMemory>& stages, const Cluster& cluster);

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

}  // namespace lumos

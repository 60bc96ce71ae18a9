#include "lumos/plan/flops.h"

#include <algorithm>

#include "lumos/plan/make_plan.h"
#include "lumos/plan/parameters.h"

namespace lumos {
namespace {

/// Forward FLOPs of one token: the products with weights, and the two products of attention.
struct TokenFlops {
  double layer_weights = 0;
  double layer_attention = 0;
  double head = 0;
};

/// Of the products with weights: 2 per element and token.
double weight_flops(const std::vector<Op>& ops, const PlanSizes& sizes) {
  double flops = 0;
  for (const Op& op : ops)
    if (op.kind == OpKind::kProduct && !op.attention_core)
      flops += 2 * static_cast<double>(sizes.of(op.columns)) * static_cast<double>(sizes.of(op.inner));
  return flops;
}

TokenFlops forward_flops(const Job& job) {
  const Plan plan = unsharded_plan(job);
  const PlanSizes& sizes = plan.sizes;
  TokenFlops flops;
  flops.layer_weights = weight_flops(plan.layer.forward, sizes);
  // Scores and context, over the whole matrix.
  flops.layer_attention = 2 * 2 * static_cast<double>(sizes[ModelSize::kKeySequence]) *
                          static_cast<double>(sizes[ModelSize::kAttentionWidth]);
  flops.head = weight_flops(plan.head.forward, sizes);
  return flops;
}

/// Layers of each chunk whose forward pass is repeated.
double recomputed_layers(const Job& job) {
  if (job.recompute_granularity != Recompute::kFull) return 0;
  const int64_t in_chunk = layers_per_chunk(job);
  const int64_t chosen =
      job.recompute_method == RecomputeMethod::kBlock ? std::min(job.recompute_num_layers, in_chunk) : in_chunk;
  return static_cast<double>(chosen * num_chunks(job));
}

}  // namespace

double tokens_per_step(const Job& job) {
  return static_cast<double>(job.global_batch_size) * static_cast<double>(job.seq_length);
}

double model_flops(const Job& job) {
  const TokenFlops token = forward_flops(job);
  const double layers = static_cast<double>(job.num_layers);
  return 3 * tokens_per_step(job) * (layers * (token.layer_weights + token.layer_attention) + token.head);
}

double hardware_flops(const Job& job) {
  const TokenFlops token = forward_flops(job);
  double repeated = recomputed_layers(job) * (token.layer_weights + token.layer_attention);
  if (job.recompute_granularity == Recompute::kSelective)
    repeated = static_cast<double>(job.num_layers) * token.layer_attention;
  return model_flops(job) + tokens_per_step(job) * repeated;
}

double tflops_per_gpu(const Job& job, double step_ms) {
  return step_ms <= 0 ? 0 : model_flops(job) / static_cast<double>(job.world_size) / (step_ms * 1e9);
}

double mfu_pct(const Job& job, double step_ms, const Gpu& gpu) {
  return 100 * tflops_per_gpu(job, step_ms) / peak_tflops(gpu, element_bytes(job));
}

}  // namespace lumos

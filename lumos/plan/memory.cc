#include "lumos/plan/memory.h"

#include <algorithm>

#include "lumos/plan/make_plan.h"
#include "lumos/plan/parameters.h"
#include "lumos/plan/pipeline_schedule.h"

namespace lumos {
namespace {

double kept_bytes(const Op& op, const Plan& plan) {
  double bytes = 0;
  for (const Term& term : op.kept) bytes += term_bytes(plan, term);
  return bytes;
}

double kept_bytes(const std::vector<Op>& ops, const Plan& plan) {
  double bytes = 0;
  for (const Op& op : ops) bytes += kept_bytes(op, plan);
  return bytes;
}

/// The same of the ops of one role.
double kept_bytes(const std::vector<Op>& ops, std::string_view role, const Plan& plan) {
  double bytes = 0;
  for (const Op& op : ops)
    if (op.role == role) bytes += kept_bytes(op, plan);
  return bytes;
}

/// What the attention's core keeps.
double core_bytes(const Plan& plan) {
  double bytes = 0;
  for (const Op& op : plan.layer.forward)
    if (op.attention_core) bytes += kept_bytes(op, plan);
  return bytes;
}

/// What one rank has of the activations between layers, and all ranks of its tensor-parallel group together.
const Extent& layer_input(const Plan& plan) { return plan.layer.forward.front().moved.front().elements; }
double layer_input_bytes(const Plan& plan) { return term_bytes(plan, {layer_input(plan)}); }

/// Kept of the layers of one chunk, per micro-batch.
double chunk_bytes(const Job& job, const Plan& plan) {
  const int64_t layers = layers_per_chunk(job);
  const double layer = kept_bytes(plan.layer.forward, plan);
  switch (plan.repeats) {
    case Repeats::kNothing:
      return static_cast<double>(layers) * layer;
    case Repeats::kAttentionCore:
      return static_cast<double>(layers) * (layer - core_bytes(plan));
    case Repeats::kLayer:
      break;
  }
  if (job.recompute_method == RecomputeMethod::kBlock) {
    const int64_t recomputed = std::min(job.recompute_num_layers, layers);
    return static_cast<double>(recomputed) * layer_input_bytes(plan) + static_cast<double>(layers - recomputed) * layer;
  }
  const int64_t groups = (layers + job.recompute_num_layers - 1) / job.recompute_num_layers;
  return static_cast<double>(groups) * layer_input_bytes(plan);
}

/// Live while one layer's backward pass runs: gradients of its widest tensors, and what was recomputed for it.
double backward_workspace(const Job& job, const Plan& plan) {
  const std::vector<Op>& ops = plan.layer.forward;
  const double gradients =
      2 * layer_input_bytes(plan) + kept_bytes(ops, "linear_fc1", plan) + kept_bytes(ops, "linear_fc2", plan);
  const Extent whole = {ModelSize::kSequence, ModelSize::kBatch, ModelSize::kHidden};
  const double gathered = layer_input(plan).is_cut(Dimension::kTensor) ? term_bytes(plan, {whole}) : 0;
  double recomputed = 0;
  if (plan.repeats == Repeats::kLayer) {
    const int64_t at_once = job.recompute_method == RecomputeMethod::kBlock ? 1 : job.recompute_num_layers;
    recomputed = static_cast<double>(std::min(at_once, layers_per_chunk(job))) * kept_bytes(ops, plan);
  } else if (plan.repeats == Repeats::kAttentionCore) {
    recomputed = core_bytes(plan);
  }
  // Unfused attention's gradient has the size of its scores.
  double scores = 0;
  for (const Op& op : ops)
    if (op.role == "attention_softmax") scores = term_bytes(plan, {op.moved.front().elements});
  return std::max(gradients, scores) + gathered + recomputed;
}

StageMemory memory_of(const Job& job, const Plan& plan, int64_t stage) {
  const int64_t num_stages = job.pipeline_model_parallel_size;
  const double parameters = static_cast<double>(stage_parameters(job, plan, stage).total());
  const int64_t passes = passes_in_flight(
      {job.pipeline_schedule, num_stages, job.virtual_pipeline_model_parallel_size, job.num_microbatches}, stage);
  const double model = plan.bytes(NumberType::kModel), master = plan.bytes(NumberType::kMaster);
  StageMemory memory;
  memory.parameters = parameters / plan.resident.parameters * model;
  memory.gradients = parameters / plan.resident.gradients * plan.bytes(NumberType::kGradient);
  // fp32 parameters and two moments beside the 16-bit model; two moments beside an fp32 one; plain SGD keeps no
  // moments.
  const double moments = job.optimizer == Optimizer::kAdam ? 2 * master : 0;
  memory.optimizer = parameters / plan.resident.optimizer * ((model < master ? master : 0) + moments);
  memory.activations = static_cast<double>(passes) * chunk_bytes(job, plan);
  if (stage == 0) {
    const int64_t microbatches =
        std::min(job.num_microbatches,
                 (passes + job.virtual_pipeline_model_parallel_size - 1) / job.virtual_pipeline_model_parallel_size);
    memory.activations += static_cast<double>(microbatches) * kept_bytes(plan.embedding.forward, plan);
  }
  memory.workspace = backward_workspace(job, plan);
  if (stage == num_stages - 1) {
    memory.activations += kept_bytes(plan.head.forward, "final_layernorm", plan);
    // The head's own backward pass comes first and has released the logits before a layer's begins.
    memory.loss = kept_bytes(plan.head.forward, "cross_entropy", plan);
    memory.workspace = std::max(0.0, memory.workspace - memory.loss);
  }
  return memory;
}

}  // namespace

double layer_activation_bytes(const Job& job) {
  const Plan plan = plan_of(job, job.gpus_per_node);
  return kept_bytes(plan.layer.forward, plan);
}

double attention_core_activation_bytes(const Job& job) { return core_bytes(plan_of(job, job.gpus_per_node)); }

std::vector<StageMemory> stage_memory(const Job& job, const Plan& plan) {
  std::vector<StageMemory> stages;
  for (int64_t stage = 0; stage < job.pipeline_model_parallel_size; ++stage)
    stages.push_back(memory_of(job, plan, stage));
  return stages;
}

std::vector<StageMemory> stage_memory(const Job& job) { return stage_memory(job, plan_of(job, job.gpus_per_node)); }

std::string memory_shortage(const std::vector<StageMemory>& stages, const Cluster& cluster) {
  size_t worst = 0;
  for (size_t stage = 1; stage < stages.size(); ++stage) {
    if (stages[stage].peak() > stages[worst].peak()) worst = stage;
  }
  const double available = cluster.gpu.memory_gib - cluster.gpu.reserved_gib;
  if (stages.empty() || stages[worst].peak() / kGib <= available) return "";
  return fmt::format("does not fit in {:g} GiB: {:.1f} GiB on stage {}", cluster.gpu.memory_gib,
                     stages[worst].peak() / kGib + cluster.gpu.reserved_gib, worst);
}

}  // namespace lumos

#include "lumos/plan/memory.h"

#include <algorithm>

#include "lumos/plan/optimizer.h"
#include "lumos/plan/parameters.h"
#include "lumos/plan/pipeline_schedule.h"

namespace lumos {
namespace {

/// Elements of one micro-batch on one tensor-parallel rank.
struct Sizes {
  double element;
  double hidden;        // tokens x hidden size
  double hidden_split;  // what of it one rank keeps
  double qkv, attention, ffn, ffn_in, logits, scores, heads;

  explicit Sizes(const Job& job) {
    const double tp = static_cast<double>(job.tensor_model_parallel_size);
    const double tokens = static_cast<double>(job.seq_length * job.micro_batch_size);
    const double head_size = static_cast<double>(job.kv_channels);
    element = static_cast<double>(element_bytes(job));
    hidden = tokens * static_cast<double>(job.hidden_size);
    hidden_split = job.sequence_parallel ? hidden / tp : hidden;
    qkv = tokens * static_cast<double>(job.num_attention_heads + 2 * job.num_query_groups) * head_size / tp;
    heads = tokens * static_cast<double>(job.num_attention_heads) / tp;
    attention = heads * head_size;
    ffn = tokens * static_cast<double>(job.ffn_hidden_size) / tp;
    ffn_in = ffn * (job.swiglu ? 2 : 1);
    logits = tokens * static_cast<double>(padded_vocab_size(job)) / tp;
    scores = heads * static_cast<double>(job.seq_length);
  }
};

/// fp32 sums and maxima that fused attention keeps per query and head.
constexpr double kFlashStatisticsBytes = 4;

double layer_bytes(const Job& job, const Sizes& s) {
  const double mask = job.hidden_dropout > 0 ? 1 : 0;
  const double norms = 2 * (2 * s.element * s.hidden_split);  // input and output of each
  const double attention = s.element * (s.qkv + s.attention);
  const double ffn = s.element * (s.ffn_in + s.ffn);
  const double dropouts = 2 * mask * s.hidden_split;
  return norms + attention + attention_core_activation_bytes(job) + ffn + dropouts;
}

/// What full recomputation keeps of a layer.
double layer_input_bytes(const Sizes& s) { return s.element * s.hidden_split; }

/// Kept of the layers of one chunk, per micro-batch.
double chunk_bytes(const Job& job, const Sizes& s) {
  const int64_t layers = layers_per_chunk(job);
  switch (job.recompute_granularity) {
    case Recompute::kNone:
      return static_cast<double>(layers) * layer_bytes(job, s);
    case Recompute::kSelective:
      return static_cast<double>(layers) * (layer_bytes(job, s) - attention_core_activation_bytes(job));
    case Recompute::kFull:
      break;
  }
  if (job.recompute_method == RecomputeMethod::kBlock) {
    const int64_t recomputed = std::min(job.recompute_num_layers, layers);
    return static_cast<double>(recomputed) * layer_input_bytes(s) +
           static_cast<double>(layers - recomputed) * layer_bytes(job, s);
  }
  const int64_t groups = (layers + job.recompute_num_layers - 1) / job.recompute_num_layers;
  return static_cast<double>(groups) * layer_input_bytes(s);
}

/// Live while one layer's backward pass runs: gradients of its widest tensors, and what was recomputed for it.
double backward_workspace(const Job& job, const Sizes& s) {
  const double gradients = s.element * (2 * s.hidden_split + s.ffn_in + s.ffn);
  const double gathered = job.sequence_parallel ? s.element * s.hidden : 0;
  double recomputed = 0;
  if (job.recompute_granularity == Recompute::kFull) {
    const int64_t at_once = job.recompute_method == RecomputeMethod::kBlock ? 1 : job.recompute_num_layers;
    recomputed = static_cast<double>(std::min(at_once, layers_per_chunk(job))) * layer_bytes(job, s);
  } else if (job.recompute_granularity == Recompute::kSelective) {
    recomputed = attention_core_activation_bytes(job);
  }
  // Unfused attention's gradient has the size of its scores.
  const double scores = job.use_flash_attn ? 0 : s.element * s.scores;
  return std::max(gradients, scores) + gathered + recomputed;
}

/// Logits in the model's type, their fp32 copy, and without fusion the copy that the exponents go to.
double loss_bytes(const Job& job, const Sizes& s) {
  const double copies = job.cross_entropy_loss_fusion ? 1 : 2;
  return s.logits * (s.element + copies * 4);
}

StageMemory memory_of(const Job& job, const Sizes& s, int64_t stage) {
  const int64_t num_stages = job.pipeline_model_parallel_size;
  const double parameters = static_cast<double>(stage_parameters(job, stage).total());
  const int64_t passes = passes_in_flight(
      {job.pipeline_schedule, num_stages, job.virtual_pipeline_model_parallel_size, job.num_microbatches}, stage);
  StageMemory memory;
  memory.parameters = parameters * s.element;
  memory.gradients = parameters * gradient_bytes(job);
  // fp32 parameters and two moments beside the 16-bit model; two moments beside an fp32 one; plain SGD keeps no
  // moments.
  const double master = s.element < 4 ? 4 : 0;
  memory.optimizer = optimizer_share(job, parameters) * (master + (job.optimizer == Optimizer::kAdam ? 8 : 0));
  memory.activations = static_cast<double>(passes) * chunk_bytes(job, s);
  if (stage == 0 && job.hidden_dropout > 0) {
    const int64_t microbatches =
        std::min(job.num_microbatches,
                 (passes + job.virtual_pipeline_model_parallel_size - 1) / job.virtual_pipeline_model_parallel_size);
    memory.activations += static_cast<double>(microbatches) * s.hidden_split;
  }
  memory.workspace = backward_workspace(job, s);
  if (stage == num_stages - 1) {
    memory.activations += 2 * s.element * s.hidden_split;  // final norm
    // The head's own backward pass comes first and has released the logits before a layer's begins.
    memory.loss = loss_bytes(job, s);
    memory.workspace = std::max(0.0, memory.workspace - memory.loss);
  }
  return memory;
}

}  // namespace

double layer_activation_bytes(const Job& job) { return layer_bytes(job, Sizes(job)); }

double attention_core_activation_bytes(const Job& job) {
  const Sizes s(job);
  if (job.use_flash_attn) return kFlashStatisticsBytes * s.heads;
  // Softmax output; with dropout also its mask and its result.
  return s.scores * (s.element + (job.attention_dropout > 0 ? 1 + s.element : 0));
}

std::vector<StageMemory> stage_memory(const Job& job) {
  const Sizes sizes(job);
  std::vector<StageMemory> stages;
  for (int64_t stage = 0; stage < job.pipeline_model_parallel_size; ++stage)
    stages.push_back(memory_of(job, sizes, stage));
  return stages;
}

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

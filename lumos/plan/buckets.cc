#include "lumos/plan/buckets.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string_view>

#include "lumos/plan/parameters.h"

namespace lumos {
namespace {

/// One tensor of parameters; `alone` where it may share a bucket with no other.
struct Tensor {
  int64_t parameters = 0;
  size_t part = 0;
  bool alone = false;
};

/// The modules of a layer in the order in which Megatron-Core makes them, which is that of its parameters.
constexpr std::array<std::string_view, 6> kModules = {"input_layernorm",   "linear_proj", "linear_qkv",
                                                      "pre_mlp_layernorm", "linear_fc1",  "linear_fc2"};

void add_tensors(const std::vector<Op>& ops, std::string_view role, const Plan& plan, Tensor like,
                 std::vector<Tensor>& tensors) {
  for (const Op& op : ops) {
    if (op.role != role) continue;
    for (const Extent& weight : op.weights) {
      like.parameters = plan.sizes.of(weight);
      tensors.push_back(like);
    }
  }
}

/// A layer's tensors in the order of its parameters.
std::vector<Tensor> layer_tensors(const Plan& plan) {
  std::vector<Tensor> tensors;
  for (std::string_view role : kModules) add_tensors(plan.layer.forward, role, plan, {}, tensors);
  return tensors;
}

/// A part's tensors likewise; `layer` are those of any layer.
void add_part(const Job& job, const Plan& plan, const std::vector<Tensor>& layer, const StagePart& part, size_t index,
              std::vector<Tensor>& tensors) {
  // A tied matrix on two stages is updated alike on both, which shares of a bucket would not be.
  const bool alone = plan.sums_tied_embedding && job.use_distributed_optimizer;
  const bool own_matrix = job.untie_embeddings_and_output_weights || job.pipeline_model_parallel_size > 1;
  switch (part.kind) {
    case StagePart::Kind::kLayer:
      for (const Tensor& tensor : layer) tensors.push_back({tensor.parameters, index});
      return;
    case StagePart::Kind::kEmbedding:
      add_tensors(plan.embedding.forward, "word_embeddings", plan, {0, index, alone}, tensors);
      add_tensors(plan.embedding.forward, "position_embeddings", plan, {0, index}, tensors);
      return;
    case StagePart::Kind::kHead:
      add_tensors(plan.head.forward, "final_layernorm", plan, {0, index}, tensors);
      if (own_matrix) add_tensors(plan.head.forward, "output_layer", plan, {0, index, alone}, tensors);
      return;
  }
}

/// The buckets of one chunk, whose tensors are given in the order of its parameters.
void fill_buckets(const std::vector<Tensor>& tensors, int64_t chunk, int64_t limit, std::vector<Bucket>& buckets) {
  bool open = false;
  for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
    if (!open || tensor->alone) buckets.push_back({chunk, 0, tensor->part, tensor->part});
    Bucket& bucket = buckets.back();
    bucket.parameters += tensor->parameters;
    bucket.part = tensor->part;
    open = bucket.parameters < limit && !tensor->alone;
  }
}

}  // namespace

int64_t bucket_limit(const Job& job) {
  if (job.ddp_bucket_size > 0) return job.ddp_bucket_size;
  return std::max<int64_t>(40'000'000, 1'000'000 * job.data_parallel_size);
}

std::vector<StagePart> stage_parts(const Job& job, const Plan& plan, int64_t stage) {
  const StageParameters held = stage_parameters(job, plan, stage);
  const int64_t chunks = job.virtual_pipeline_model_parallel_size, layers = layers_per_chunk(job);
  const int64_t of_layer = layer_parameters(plan);
  std::vector<StagePart> parts;
  if (stage == 0) parts.push_back({StagePart::Kind::kEmbedding, 0, held.embedding});
  for (int64_t layer = 0; layer < chunks * layers; ++layer)
    parts.push_back({StagePart::Kind::kLayer, layer / layers, of_layer});
  if (stage + 1 == job.pipeline_model_parallel_size) parts.push_back({StagePart::Kind::kHead, chunks - 1, held.head});
  return parts;
}

std::vector<size_t> gather_order(const std::vector<Bucket>& buckets) {
  std::vector<size_t> order(buckets.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return buckets[a].chunk != buckets[b].chunk ? buckets[a].chunk < buckets[b].chunk : a > b;
  });
  return order;
}

std::vector<Bucket> stage_buckets(const Job& job, const Plan& plan, int64_t stage) {
  const std::vector<StagePart> parts = stage_parts(job, plan, stage);
  const std::vector<Tensor> layer = layer_tensors(plan);
  std::vector<Bucket> buckets;
  for (int64_t chunk = 0; chunk < job.virtual_pipeline_model_parallel_size; ++chunk) {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].chunk == chunk) add_part(job, plan, layer, parts[i], i, tensors);
    const bool in_buckets = job.overlap_grad_reduce && stage == 0 && chunk == 0;
    fill_buckets(tensors, chunk, in_buckets ? bucket_limit(job) : std::numeric_limits<int64_t>::max(), buckets);
  }
  return buckets;
}

}  // namespace lumos

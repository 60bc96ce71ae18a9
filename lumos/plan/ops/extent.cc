#include "lumos/plan/ops/extent.h"

namespace lumos {

PlanSizes::PlanSizes(const Job& job, const Mesh& mesh) {
  const auto set = [&](ModelSize size, int64_t value) { sizes_[static_cast<size_t>(size)] = value; };
  set(ModelSize::kSequence, job.seq_length);
  set(ModelSize::kKeySequence, job.seq_length);
  set(ModelSize::kBatch, job.micro_batch_size);
  set(ModelSize::kHidden, job.hidden_size);
  set(ModelSize::kQueryHeads, job.num_attention_heads);
  set(ModelSize::kKeyHeads, job.num_query_groups);
  set(ModelSize::kHeadSize, job.kv_channels);
  set(ModelSize::kQkvWidth, (job.num_attention_heads + 2 * job.num_query_groups) * job.kv_channels);
  set(ModelSize::kAttentionWidth, job.num_attention_heads * job.kv_channels);
  set(ModelSize::kFfn, job.ffn_hidden_size);
  set(ModelSize::kFfnIn, job.ffn_hidden_size * (job.swiglu ? 2 : 1));
  set(ModelSize::kVocabulary, padded_vocab_size(job));
  set(ModelSize::kPositions, job.max_position_embeddings);
  for (size_t i = 0; i < kMostDimensions; ++i) members_[i] = mesh.size(Dimension(i));
}

int64_t PlanSizes::of(const Extent& extent) const {
  int64_t product = 1;
  for (const Factor& factor : extent) {
    int64_t value = (*this)[factor.size];
    for (size_t i = 0; !factor.by.empty() && i < kMostDimensions; ++i)
      if (factor.by.has(Dimension(i))) value /= members_[i];
    product *= value;
  }
  return product;
}

}  // namespace lumos

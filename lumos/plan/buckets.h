// The buckets in which a stage's replicas reduce gradients and gather parameters, as Megatron fills them: per chunk,
// from the last parameter to the first, closed once they hold ddp_bucket_size parameters. Stages behind the first and
// chunks behind the first have one each, and so has everyone without overlap. Read by estimates, by synthesis and by
// changes of the overlap.
// Source: Megatron-Core, distributed/distributed_data_parallel.py and param_and_grad_buffer.py.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/plan/ops/plan.h"

namespace lumos {

/// A part of a stage's model whose gradients are complete at one time: the embedding, a layer, or the head.
struct StagePart {
  enum class Kind : uint8_t { kEmbedding, kLayer, kHead };
  Kind kind = Kind::kLayer;
  int64_t chunk = 0;
  int64_t parameters = 0;
};

/// In the order of the forward pass: the embedding on the first stage, all layers of all chunks, the head on the last.
std::vector<StagePart> stage_parts(const Job& job, const Plan& plan, int64_t stage);

struct Bucket {
  int64_t chunk = 0;
  int64_t parameters = 0;
  /// The part that its last gradient belongs to, whose backward pass completes it; also the first that reads from it.
  size_t part = 0;
  size_t last_part = 0;  ///< that reads from it
};

/// In the order in which they close: chunk by chunk, each from the end of the model to its beginning.
std::vector<Bucket> stage_buckets(const Job& job, const Plan& plan, int64_t stage);

/// Indexes of buckets in the order in which they are gathered: chunk by chunk, each from its beginning to its end.
std::vector<size_t> gather_order(const std::vector<Bucket>& buckets);

/// Parameters at which a bucket closes.
int64_t bucket_limit(const Job& job);

}  // namespace lumos

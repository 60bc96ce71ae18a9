// Where a rank sits in the parallel layout of a job, and where its groups sit on the nodes. Read by the matching of
// collectives without metadata and by the network model.
#pragma once

#include <cstdint>

#include "lumos/model/job/job.h"

namespace lumos {

enum class Axis : uint8_t { kTensor, kData, kPipeline };

/// Ranks between neighbours along `axis`, from the job's rank_order (fastest first).
int64_t stride_of(const Job& job, Axis axis);

struct RankPlace {
  int64_t tensor = 0;
  int64_t data = 0;
  int64_t stage = 0;
};

RankPlace place_of(const Job& job, int64_t rank);

/// Members of a group and how many of them share a node.
struct GroupSpan {
  int64_t members = 1;
  int64_t per_node = 1;
  bool crosses_nodes() const { return members > per_node; }
  bool operator==(const GroupSpan&) const = default;
};

/// The group along `axis`, assuming that nodes hold consecutive ranks.
GroupSpan span_along(const Job& job, Axis axis);

/// Replicas that share out one model in a sharded job, neighbours along the data axis; and the holders of one shard.
GroupSpan span_of_shards(const Job& job);
GroupSpan span_of_shard_holders(const Job& job);

/// Stages `stage` and `other` of one pipeline.
GroupSpan span_of_stages(const Job& job, int64_t stage, int64_t other);

/// The stage that holds `virtual_stage` and the one that holds the next: after the last one comes the first again.
GroupSpan span_of_border(const Job& job, int64_t virtual_stage);

}  // namespace lumos

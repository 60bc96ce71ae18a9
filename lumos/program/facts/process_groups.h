// The process groups that Megatron makes for a job, and those that one rank is a member of, as a trace lists them. Made
// from a Job; read by program/synthesize.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/model/job/job.h"
#include "lumos/parallel/mesh.h"

namespace lumos {

/// Index into RankGroups. Those of further dimensions follow.
enum class GroupKind : uint8_t { kWorld, kData, kModel, kTensor, kPipeline, kEmbedding };
inline constexpr size_t kNumGroupKinds = 6 + kMostDimensions;

struct RankGroup {
  int64_t number = 0;  ///< the same on all members; every group of the job has its own
  std::string description;
  std::vector<int32_t> ranks;

  int64_t size() const { return static_cast<int64_t>(ranks.size()); }
};

/// By GroupKind. A rank that is in no group of a kind (the embedding's, of stages in the middle) is alone in it.
using RankGroups = std::vector<RankGroup>;

RankGroups groups_of_rank(const Job& job, int64_t rank);

/// The kind of the groups along one dimension, of all ranks, or of a replica's.
GroupKind group_kind(DimensionSet along);

/// "[0, 2, 4]", cut with "..." after 30 ranks as PyTorch does.
std::string ranks_text(const std::vector<int32_t>& ranks);

}  // namespace lumos

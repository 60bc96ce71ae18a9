// The process groups that Megatron makes for a job, and those that one rank is a member of, as a trace lists them. Made
// from a Job; read by program/synthesize.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lumos/model/job/job.h"
#include "lumos/model/kernels/collective.h"

namespace lumos {

enum class GroupKind : uint8_t { kWorld, kData, kModel, kTensor, kPipeline, kEmbedding };
inline constexpr int kNumGroupKinds = 6;

struct RankGroup {
  int64_t number = 0;  ///< the same on all members; every group of the job has its own
  std::string description;
  std::vector<int32_t> ranks;

  int64_t size() const { return static_cast<int64_t>(ranks.size()); }
};

/// By GroupKind. A rank that is in no group of a kind (the embedding's, of stages in the middle) is alone in it.
using RankGroups = std::array<RankGroup, kNumGroupKinds>;

RankGroups groups_of_rank(const Job& job, int64_t rank);

/// How `ranks` lie on nodes of consecutive ranks: the fullest node counts.
GroupShape shape_of_ranks(const std::vector<int32_t>& ranks, int64_t gpus_per_node);

/// "[0, 2, 4]", cut with "..." after 30 ranks as PyTorch does.
std::string ranks_text(const std::vector<int32_t>& ranks);

}  // namespace lumos

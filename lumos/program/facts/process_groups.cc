#include "lumos/program/facts/process_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lumos/program/facts/rank_place.h"

namespace lumos {
namespace {

/// Ranks that agree with `place` on all axes but the free ones.
struct FreeAxes {
  bool tensor = false, data = false, stage = false;
};

std::vector<int32_t> ranks_along(const Job& job, const RankPlace& place, FreeAxes free) {
  const int64_t strides[3] = {stride_of(job, Axis::kTensor), stride_of(job, Axis::kData),
                              stride_of(job, Axis::kPipeline)};
  std::vector<int32_t> ranks;
  for (int64_t t = 0; t < (free.tensor ? job.tensor_model_parallel_size : 1); ++t)
    for (int64_t d = 0; d < (free.data ? job.data_parallel_size : 1); ++d)
      for (int64_t s = 0; s < (free.stage ? job.pipeline_model_parallel_size : 1); ++s)
        ranks.push_back(static_cast<int32_t>((free.tensor ? t : place.tensor) * strides[0] +
                                             (free.data ? d : place.data) * strides[1] +
                                             (free.stage ? s : place.stage) * strides[2]));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

RankGroups groups_of_rank(const Job& job, int64_t rank) {
  const RankPlace place = place_of(job, rank);
  const int64_t tp = job.tensor_model_parallel_size, pp = job.pipeline_model_parallel_size;
  const int64_t dp = job.data_parallel_size;
  RankGroups groups;
  int64_t next = 0;
  const auto make = [&](GroupKind kind, std::string description, FreeAxes free, int64_t index, int64_t count) {
    groups[static_cast<size_t>(kind)] = {next + index, std::move(description), ranks_along(job, place, free)};
    next += count;
  };
  make(GroupKind::kWorld, "default_pg", {true, true, true}, 0, 1);
  make(GroupKind::kData, "DATA_PARALLEL_GROUP_WITH_CP", {false, true, false}, place.stage * tp + place.tensor, tp * pp);
  make(GroupKind::kModel, "MODEL_PARALLEL_GROUP", {true, false, true}, place.data, dp);
  make(GroupKind::kTensor, "TENSOR_MODEL_PARALLEL_GROUP", {true, false, false}, place.stage * dp + place.data, pp * dp);
  make(GroupKind::kPipeline, "PIPELINE_MODEL_PARALLEL_GROUP", {false, false, true}, place.data * tp + place.tensor,
       tp * dp);
  make(GroupKind::kEmbedding, "EMBEDDING_GROUP", {false, false, true}, place.data * tp + place.tensor, tp * dp);
  std::vector<int32_t>& ends = groups[static_cast<size_t>(GroupKind::kEmbedding)].ranks;
  if (place.stage == 0 || place.stage == pp - 1) {
    ends = pp == 1 ? std::vector<int32_t>{ends.front()} : std::vector<int32_t>{ends.front(), ends.back()};
  } else {
    ends = {static_cast<int32_t>(rank)};
  }
  return groups;
}

GroupShape shape_of_ranks(const std::vector<int32_t>& ranks, int64_t gpus_per_node) {
  std::map<int64_t, int64_t> per_node;
  for (int32_t rank : ranks) ++per_node[rank / gpus_per_node];
  GroupShape shape{static_cast<int64_t>(ranks.size()), 1};
  for (const auto& [node, members] : per_node) shape.per_node = std::max(shape.per_node, members);
  return shape;
}

std::string ranks_text(const std::vector<int32_t>& ranks) {
  constexpr size_t kMostListed = 30;
  const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(std::min(ranks.size(), kMostListed));
  const std::string text = fmt::format("{}", fmt::join(ranks.begin(), end, ", "));
  return fmt::format("[{}{}]", text, ranks.size() > kMostListed ? ", ..." : "");
}

}  // namespace lumos

#include "lumos/program/facts/process_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lumos/plan/ops/layout.h"

namespace lumos {
namespace {

constexpr size_t kNumNamed = 6;

const DimensionSet kReplica = {Dimension::kTensor, Dimension::kPipeline};

/// Numbers groups and lists their members.
class GroupMaker {
 public:
  GroupMaker(const Job& job, int64_t rank) : mesh_(mesh_of(job)), position_(mesh_.position(rank)) {}

  void make(GroupKind kind, std::string_view description, DimensionSet along) {
    int64_t index = 0, count = 1;
    for (size_t i = 0; i < dimension_table().size(); ++i) {
      if (along.has(Dimension(i)) || mesh_.size(Dimension(i)) == 1) continue;
      index += count * position_[Dimension(i)];
      count *= mesh_.size(Dimension(i));
    }
    std::vector<int32_t> ranks = mesh_.members(position_, along);
    at(kind) = {next_ + index, std::string(description), std::move(ranks)};
    next_ += count;
  }

  /// First and last stage share the tied embedding.
  void keep_ends(GroupKind kind, int64_t rank) {
    RankGroup& group = at(kind);
    std::vector<int32_t> ends = {group.ranks.front()};
    if (group.size() > 1) ends.push_back(group.ranks.back());
    const bool member = std::find(ends.begin(), ends.end(), static_cast<int32_t>(rank)) != ends.end();
    group.ranks = member ? ends : std::vector<int32_t>{static_cast<int32_t>(rank)};
  }

  const Mesh& mesh() const { return mesh_; }
  RankGroups take() { return std::move(groups_); }

 private:
  RankGroup& at(GroupKind kind) {
    const auto index = static_cast<size_t>(kind);
    if (groups_.size() <= index) groups_.resize(index + 1);
    return groups_[index];
  }

  Mesh mesh_;
  Position position_;
  RankGroups groups_;
  int64_t next_ = 0;
};

}  // namespace

RankGroups groups_of_rank(const Job& job, int64_t rank) {
  GroupMaker groups(job, rank);
  const auto along = [&](Dimension dimension) {
    groups.make(group_kind(dimension), row_of(dimension).group_words.front(), dimension);
  };
  groups.make(GroupKind::kWorld, "default_pg", groups.mesh().all());
  along(Dimension::kData);
  groups.make(GroupKind::kModel, "MODEL_PARALLEL_GROUP", kReplica);
  along(Dimension::kTensor);
  along(Dimension::kPipeline);
  groups.make(GroupKind::kEmbedding, "EMBEDDING_GROUP", Dimension::kPipeline);
  groups.keep_ends(GroupKind::kEmbedding, rank);
  for (Dimension dimension : groups.mesh().order())
    if (group_kind(dimension) > GroupKind::kEmbedding && groups.mesh().size(dimension) > 1) along(dimension);
  return groups.take();
}

GroupKind group_kind(DimensionSet along) {
  if (along == Dimension::kData) return GroupKind::kData;
  if (along == Dimension::kTensor) return GroupKind::kTensor;
  if (along == Dimension::kPipeline) return GroupKind::kPipeline;
  if (along == kReplica) return GroupKind::kModel;
  for (size_t i = 0; i < dimension_table().size(); ++i)
    if (along == Dimension(i)) return GroupKind(kNumNamed + i);
  return GroupKind::kWorld;
}

std::string ranks_text(const std::vector<int32_t>& ranks) {
  constexpr size_t kMostListed = 30;
  const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(std::min(ranks.size(), kMostListed));
  const std::string text = fmt::format("{}", fmt::join(ranks.begin(), end, ", "));
  return fmt::format("[{}{}]", text, ranks.size() > kMostListed ? ", ..." : "");
}

}  // namespace lumos

#include "lumos/parallel/mesh.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace lumos {
namespace {

using Ranks = std::vector<int32_t>;

Mesh mesh_of(int64_t tensor, int64_t data, int64_t pipeline, int64_t gpus_per_node = 8) {
  Mesh mesh(gpus_per_node);
  mesh.add(Dimension::kTensor, tensor);
  mesh.add(Dimension::kData, data);
  mesh.add(Dimension::kPipeline, pipeline);
  return mesh;
}

TEST(Mesh, TheFirstDimensionVariesFastest) {
  const Mesh mesh = mesh_of(2, 4, 2);
  const Position position = mesh.position(13);
  EXPECT_EQ(position[Dimension::kTensor], 1);
  EXPECT_EQ(position[Dimension::kData], 2);
  EXPECT_EQ(position[Dimension::kPipeline], 1);
  EXPECT_EQ(mesh.stride(Dimension::kPipeline), 8);
  EXPECT_EQ(mesh.ranks(), 16);
}

TEST(Mesh, GroupsAreTheRanksThatDifferAlongTheirDimensionsAlone) {
  const Mesh mesh = mesh_of(2, 2, 4);
  const Position position = mesh.position(6);
  EXPECT_EQ(mesh.members(position, Dimension::kTensor), (Ranks{6, 7}));
  EXPECT_EQ(mesh.members(position, Dimension::kData), (Ranks{4, 6}));
  EXPECT_EQ(mesh.members(position, Dimension::kPipeline), (Ranks{2, 6, 10, 14}));
  EXPECT_EQ(mesh.members(position, {Dimension::kTensor, Dimension::kPipeline}), (Ranks{2, 3, 6, 7, 10, 11, 14, 15}));
}

TEST(Mesh, DimensionsThatItDoesNotHaveAreOfOneRank) {
  const Mesh mesh = mesh_of(2, 2, 1);
  EXPECT_EQ(mesh.size(Dimension::kContext), 1);
  EXPECT_EQ(mesh.members(mesh.position(3), Dimension::kContext), (Ranks{3}));
  EXPECT_EQ(mesh.shape(Dimension::kContext), (GroupShape{1, 1}));
}

TEST(Mesh, TwoPositionsShareANodeOrNot) {
  EXPECT_EQ(mesh_of(2, 4, 2).pair(Dimension::kPipeline, 0, 1), (GroupShape{2, 1}));
  EXPECT_EQ(mesh_of(2, 2, 2).pair(Dimension::kPipeline, 0, 1), (GroupShape{2, 2}));
  EXPECT_EQ(mesh_of(2, 2, 2).pair(Dimension::kPipeline, 1, 1), (GroupShape{1, 1}));
}

RC_GTEST_PROP(Mesh, PositionsAndRanksAreOneToOne, ()) {
  const auto side = [] { return *rc::gen::inRange<int64_t>(1, 7); };
  const Mesh mesh = mesh_of(side(), side(), side());
  const auto rank = *rc::gen::inRange<int64_t>(0, mesh.ranks());
  RC_ASSERT(mesh.rank_at(mesh.position(rank)) == rank);
}

RC_GTEST_PROP(Mesh, AGroupIsAscendingSpansItsDimensionsAndIsTheSameForAllOfIt, ()) {
  const auto side = [] { return *rc::gen::inRange<int64_t>(1, 7); };
  const Mesh mesh = mesh_of(side(), side(), side());
  const auto rank = *rc::gen::inRange<int64_t>(0, mesh.ranks());
  DimensionSet along;
  for (Dimension dimension : mesh.order())
    if (*rc::gen::arbitrary<bool>() && mesh.size(dimension) > 1) along = along.with(dimension);
  const Ranks group = mesh.members(mesh.position(rank), along);
  RC_ASSERT(static_cast<int64_t>(group.size()) == mesh.size(along));
  RC_ASSERT(std::is_sorted(group.begin(), group.end()));
  RC_ASSERT(std::find(group.begin(), group.end(), static_cast<int32_t>(rank)) != group.end());
  RC_ASSERT(mesh.spanned(group) == along);
  for (int32_t other : group) RC_ASSERT(mesh.members(mesh.position(other), along) == group);
}

RC_GTEST_PROP(Mesh, TheShapeIsThatOfTheRanks, ()) {
  const auto side = [] { return *rc::gen::inRange<int64_t>(1, 20); };
  const Mesh mesh = mesh_of(side(), side(), side(), *rc::gen::inRange<int64_t>(1, 17));
  for (DimensionSet along : {DimensionSet(Dimension::kTensor), DimensionSet(Dimension::kData),
                             DimensionSet(Dimension::kPipeline), mesh.all()})
    RC_ASSERT(mesh.shape(along) == group_shape(mesh.members(Position(), along), mesh.gpus_per_node()));
}

}  // namespace
}  // namespace lumos

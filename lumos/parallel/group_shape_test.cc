#include "lumos/parallel/group_shape.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(GroupShape, CountsTheMembersOfEachNode) {
  EXPECT_EQ(group_shape(8, 1, 8), (GroupShape{8, 8}));
  EXPECT_EQ(group_shape(4, 2, 8), (GroupShape{4, 4}));
  EXPECT_EQ(group_shape(16, 2, 8), (GroupShape{16, 4}));
  EXPECT_EQ(group_shape(16, 8, 8), (GroupShape{16, 1}));
  EXPECT_EQ(group_shape(1, 1, 8), (GroupShape{1, 1}));
  EXPECT_EQ(group_shape({0, 1, 8, 9}, 8), (GroupShape{4, 2}));
  EXPECT_EQ(group_shape({0, 8}, 8), (GroupShape{2, 1}));
}

TEST(GroupShape, UnevenNodesHaveTheMean) {
  // 8 and 4: two nodes, whichever way the group is described.
  EXPECT_EQ(group_shape(12, 1, 8), (GroupShape{12, 6}));
  EXPECT_EQ(group_shape({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 8), (GroupShape{12, 6}));
  EXPECT_EQ(group_shape(12, 1, 8).nodes(), 2);
}

TEST(GroupShape, AStrideThatDoesNotDivideTheNodeMeansTheRanksItReaches) {
  EXPECT_EQ(group_shape(4, 3, 8), group_shape({0, 3, 6, 9}, 8));
  EXPECT_EQ(group_shape(4, 3, 8), (GroupShape{4, 2}));
}

}  // namespace
}  // namespace lumos

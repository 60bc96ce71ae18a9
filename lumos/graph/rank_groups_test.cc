#include "lumos/graph/rank_groups.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace lumos {
namespace {

const ProcessGroup* find(const std::vector<ProcessGroup>& groups, const std::string& name) {
  for (const ProcessGroup& group : groups) {
    if (group.name == name) return &group;
  }
  return nullptr;
}

TEST(RankGroups, MegatronsDefaultPutsDataInsidePipeline) {
  RankLayout layout;
  layout.tensor = 2, layout.data = 4, layout.pipeline = 2;
  const auto groups = groups_of_layout(layout);
  ASSERT_TRUE(groups.has_value());
  EXPECT_EQ(find(*groups, "tp:6")->ranks, (std::vector<int32_t>{6, 7}));
  EXPECT_EQ(find(*groups, "dp:1")->ranks, (std::vector<int32_t>{1, 3, 5, 7}));
  EXPECT_EQ(find(*groups, "pp:3")->ranks, (std::vector<int32_t>{3, 11}));
  EXPECT_EQ(find(*groups, "embedding:0")->ranks, (std::vector<int32_t>{0, 8}));
}

TEST(RankGroups, WrongOrdersAreUsageErrors) {
  RankLayout layout;
  layout.tensor = 2, layout.pipeline = 2;
  for (const char* order : {"tp-dp", "tp-tp-pp", "tp-xx-pp", ""}) {
    layout.order = order;
    const auto groups = groups_of_layout(layout);
    ASSERT_FALSE(groups.has_value()) << order;
    EXPECT_EQ(groups.error().kind, ErrorKind::kUsage);
  }
}

RC_GTEST_PROP(RankGroups, EveryRankIsInExactlyOneGroupOfEachDimension, ()) {
  RankLayout layout;
  layout.tensor = *rc::gen::inRange(1, 4);
  layout.context = *rc::gen::inRange(1, 3);
  layout.data = *rc::gen::inRange(1, 4);
  layout.pipeline = *rc::gen::inRange(1, 4);
  layout.order = *rc::gen::element<std::string>("tp-cp-ep-dp-pp", "tp-dp-pp-cp", "pp-dp-cp-tp", "tp-pp-cp-dp");
  const auto groups = groups_of_layout(layout);
  RC_ASSERT(groups.has_value());
  const int32_t world = layout.tensor * layout.context * layout.data * layout.pipeline;
  std::map<std::string, std::vector<int>> seen;
  for (const ProcessGroup& group : *groups) {
    RC_ASSERT(static_cast<size_t>(group.size) == group.ranks.size());
    auto& counts = seen[group.description];
    counts.resize(static_cast<size_t>(world));
    for (int32_t rank : group.ranks) ++counts[static_cast<size_t>(rank)];
  }
  for (const auto& [description, counts] : seen) {
    if (description == "EMBEDDING_GROUP") continue;
    for (int count : counts) RC_ASSERT(count == 1);
  }
}

}  // namespace
}  // namespace lumos

#include "lumos/graph/join.h"

#include <gtest/gtest.h>

#include "lumos/graph/rank/build.h"
#include "lumos/trace/write/test_demo_table.h"

namespace lumos {
namespace {

TEST(JoinRanks, TasksOfEachRankKeepTheirDependenciesAndNoRankSeesAnother) {
  const ExecGraph one = build_graph(demo_table(), BuildOptions{});
  std::vector<ExecGraph> graphs;
  graphs.push_back(one);
  graphs.push_back(one);
  const ExecGraph two = join_ranks(std::move(graphs));
  ASSERT_EQ(two.size(), 2 * one.size());
  ASSERT_EQ(two.ranks.size(), 2u);
  EXPECT_EQ(two.ranks[1].first_task, one.size());
  EXPECT_EQ(two.ranks[1].end_task, two.size());
  for (uint32_t task = 0; task < one.size(); ++task) {
    const uint32_t copy = one.size() + task;
    ASSERT_EQ(two.edge_begin[copy + 1] - two.edge_begin[copy], one.edge_begin[task + 1] - one.edge_begin[task]);
    for (uint32_t i = 0; i < one.edge_begin[task + 1] - one.edge_begin[task]; ++i) {
      EXPECT_EQ(two.edges[two.edge_begin[copy] + i].source, one.edges[one.edge_begin[task] + i].source + one.size());
    }
    const uint32_t processor = two.processor[copy];
    EXPECT_TRUE(processor == kNoProcessor || two.processors[processor].rank_index == 1u) << "task " << task;
  }
  ASSERT_EQ(two.ranks[1].steps.size(), one.ranks[0].steps.size());
  EXPECT_EQ(two.ranks[1].steps[0].first_task, one.ranks[0].steps[0].first_task + one.size());
}

TEST(JoinRanks, NoRanksAreAGraphWithoutTasks) {
  const ExecGraph none = join_ranks({});
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.edge_begin.size(), 1u);
}

}  // namespace
}  // namespace lumos

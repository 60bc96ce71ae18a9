#include "lumos/cli/arguments/find_step.h"

#include <gtest/gtest.h>

#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

/// Three steps of 30, 10 and 20 us; the last one is left out unless `all`.
ExecGraph three_steps(bool all) {
  TestGraph g(1, 0);
  std::vector<Step> steps;
  int64_t at_ns = 0;
  int number = 4;
  for (int64_t length_ns : {30'000, 10'000, 20'000}) {
    Step step;
    step.name = "ProfilerStep#" + std::to_string(number++);
    const uint32_t row = g.row(EventKind::kAnnotation, step.name, 0, at_ns, length_ns);
    step.first_task = step.last_task = g.task(TaskKind::kHost, row, at_ns, length_ns, {});
    step.chosen = all || number < 7;
    steps.push_back(step);
    at_ns += length_ns;
  }
  return g.finish(steps);
}

TEST(FindStep, ByItsNumber) {
  const ExecGraph graph = three_steps(true);
  EXPECT_EQ(find_step(graph, 0, 5).value(), 1u);
  const Result<uint32_t> none = find_step(graph, 0, 9);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kUsage);
  EXPECT_NE(none.error().message.find("ProfilerStep#4, ProfilerStep#5, ProfilerStep#6"), std::string::npos);
}

TEST(FindStep, TheChosenOneOfMedianLengthUnlessToldOtherwise) {
  EXPECT_EQ(find_step(three_steps(true), 0, -1).value(), 2u);
  EXPECT_EQ(find_step(three_steps(false), 0, -1).value(), 1u);
}

TEST(FindStep, NothingRanIsSaid) {
  TestGraph g(1, 0);
  const ExecGraph graph = g.finish({});
  EXPECT_FALSE(find_step(graph, 0, -1));
}

TEST(FindRank, ByItsNumberOrTheFirst) {
  ExecGraph graph = three_steps(true);
  graph.ranks[0].rank = 3;
  EXPECT_EQ(find_rank(graph, -1).value(), 0u);
  EXPECT_EQ(find_rank(graph, 3).value(), 0u);
  const Result<uint32_t> none = find_rank(graph, 0);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("the ranks: 3"), std::string::npos);
}

}  // namespace
}  // namespace lumos

#include "lumos/cli/arguments/step_range.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

ExecGraph graph_with_steps(std::initializer_list<const char*> names) {
  ExecGraph graph;
  graph.ranks.emplace_back();
  for (const char* name : names) {
    Step step;
    step.name = name;
    graph.ranks[0].steps.push_back(step);
  }
  return graph;
}

TEST(StepRange, ReadsOneStepOrARange) {
  EXPECT_EQ(parse_step_range("4").value().last, 4);
  EXPECT_EQ(parse_step_range("4-16").value().first, 4);
  EXPECT_EQ(parse_step_range("4-16").value().last, 16);
}

TEST(StepRange, RejectsWhatIsNoRange) {
  for (const char* text : {"", "-", "4-", "-4", "6-4", "4-6-8", "x", "4.5", "99999999999999999999"}) {
    EXPECT_FALSE(parse_step_range(text).has_value()) << text;
  }
}

TEST(StepRange, ChoosesByTheNumberInTheNameAndSaysWhyOthersAreLeftOut) {
  ExecGraph graph = graph_with_steps({"ProfilerStep#8", "ProfilerStep#9", "ProfilerStep#10"});
  ASSERT_TRUE(choose_steps(graph, {9, 12}).has_value());
  EXPECT_FALSE(graph.ranks[0].steps[0].chosen);
  EXPECT_EQ(graph.ranks[0].steps[0].left_out_reason, "not asked for");
  EXPECT_TRUE(graph.ranks[0].steps[1].chosen);
  EXPECT_TRUE(graph.ranks[0].steps[2].chosen);
}

TEST(StepRange, ARankWithoutSuchStepsIsAnErrorThatListsItsSteps) {
  ExecGraph graph = graph_with_steps({"trace"});
  EXPECT_EQ(choose_steps(graph, {1, 2}).error().message, "--steps 1-2: rank 0 has no such step; its steps: trace");
}

}  // namespace
}  // namespace lumos

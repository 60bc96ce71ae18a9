#include "lumos/program/lower/lower.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumos/graph/rank/build.h"
#include "lumos/program/test_program.h"
#include "lumos/sim/simulate.h"

namespace lumos {
namespace {

struct Recovered {
  ExecGraph graph;
  Program program;
};

Recovered recover_trace(const TestTraceShape& shape) {
  Recovered out;
  const auto table = TestTrace(shape).table();
  out.graph = build_graph(table, {});
  std::vector<RecoveredRank> ranks;
  ranks.push_back(recover(*table, {}));
  out.program = make_program({out.graph}, std::move(ranks));
  return out;
}

LowerPlan all_blocks(const Program& program) {
  LowerPlan plan;
  PlannedRank rank;
  for (uint32_t b = 0; b < program.ranks[0].blocks.size(); ++b) rank.blocks.push_back({0, b});
  plan.ranks.push_back(rank);
  return plan;
}

/// When the GPU is done.
int64_t end_of(const ExecGraph& graph) {
  const Timeline timeline = simulate(graph);
  int64_t end = 0;
  for (uint32_t task = 0; task < graph.size(); ++task)
    if (is_gpu_task(graph.kind[task])) end = std::max(end, timeline.end_ns[task]);
  return end;
}

TEST(Lower, WithoutAChangeTheProgramRunsAsItsGraphDid) {
  const Recovered found = recover_trace({});
  const ExecGraph again = lower(found.program, all_blocks(found.program), measured_durations(found.program)).value();
  EXPECT_EQ(again.size(), found.graph.size());
  EXPECT_EQ(end_of(again), end_of(found.graph));
}

TEST(Lower, EveryTaskIsInExactlyOneBlock) {
  const Program program = recover_trace({}).program;
  uint32_t next = 0;
  for (const Block& block : program.ranks[0].blocks) {
    EXPECT_EQ(block.task_begin, next);
    next = block.task_end;
  }
  EXPECT_EQ(next, program.ranks[0].tasks.size());
}

TEST(Lower, ALayerTwiceTakesItsTimeTwice) {
  TestTraceShape shape;
  shape.steps = 1;
  const Program program = recover_trace(shape).program;
  LowerPlan plan = all_blocks(program);
  const int64_t before = end_of(lower(program, plan, measured_durations(program)).value());
  auto& blocks = plan.ranks[0].blocks;
  const auto layer = std::find_if(blocks.begin(), blocks.end(), [&](const PlacedBlock& placed) {
    return program.ranks[0].blocks[placed.block].role == BlockRole::kForwardLayer;
  });
  ASSERT_NE(layer, blocks.end());
  blocks.insert(layer, *layer);
  const int64_t after = end_of(lower(program, plan, measured_durations(program)).value());
  // Four kernels of 50 us each, one after the other on a busy stream.
  EXPECT_NEAR(static_cast<double>(after - before), 4 * 51'000, 8'000);
}

TEST(Lower, APlanOfNothingIsAGraphOfNothing) {
  const Program program = recover_trace({}).program;
  EXPECT_EQ(lower(program, {}, measured_durations(program))->size(), 0u);
}

}  // namespace
}  // namespace lumos

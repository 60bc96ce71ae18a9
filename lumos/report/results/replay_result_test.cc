#include "lumos/report/results/replay_result.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumos/graph/join.h"
#include "lumos/report/text/replay_render.h"
#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

ReplayResult small_result() {
  const ExecGraph graph = small_step();
  return replay_result(graph, simulate(graph), {});
}

TEST(ReplayResult, ComparesMeasuredAndReplayedStep) {
  const ReplayResult result = small_result();
  ASSERT_EQ(result.ranks.size(), 1u);
  const RankResult& rank = result.ranks[0];
  EXPECT_DOUBLE_EQ(rank.measured_ms, 0.002);
  EXPECT_DOUBLE_EQ(rank.replayed_ms, 0.0018);  // the 200 ns that nothing explains are gone
  EXPECT_NEAR(error_percent(rank.measured_ms, rank.replayed_ms), -10, 1e-9);
  EXPECT_DOUBLE_EQ(rank.unexplained_ms, 0.0002);
  EXPECT_DOUBLE_EQ(rank.kernel_start_mae_us, 0);
  EXPECT_EQ(rank.gpu_tasks, 2u);
  EXPECT_EQ(rank.cpu_tasks, 10u);
  EXPECT_EQ(rank.dependencies.launch, 2u);
  EXPECT_EQ(rank.dependencies.inter_stream_recorded, 1u);
  EXPECT_EQ(result.measured_span_ms, 0.002);
}

TEST(ReplayResult, BreakdownsSumToTheirSteps) {
  const ReplayResult result = small_result();
  const auto sum = [](const BreakdownMs& b) { return b.exposed_compute + b.overlapped + b.exposed_comm + b.other; };
  EXPECT_NEAR(sum(result.measured), result.measured_ms, 1e-12);
  EXPECT_NEAR(sum(result.replayed), result.replayed_ms, 1e-12);
  EXPECT_DOUBLE_EQ(result.measured.exposed_comm, 0.0004);
}

// Two ranks that began to record at different steps: what they have in common decides.
TEST(ReplayResult, ASpanIsOfStepsOfOneName) {
  std::vector<ExecGraph> graphs = {small_step(), small_step()};
  const auto span = [&] {
    std::vector<ExecGraph> copies = graphs;
    const ExecGraph both = join_ranks(std::move(copies));
    return replay_result(both, simulate(both), {}).replayed_span_ms;
  };
  EXPECT_EQ(span(), small_result().replayed_span_ms);
  graphs[1].ranks[0].steps[0].name = "ProfilerStep#later";
  EXPECT_EQ(span(), std::nullopt);
  Step before = graphs[0].ranks[0].steps[0];
  before.name = "ProfilerStep#before";
  before.chosen = false;
  graphs[1].ranks[0].steps[0].name = graphs[0].ranks[0].steps[0].name;
  graphs[1].ranks[0].steps.insert(graphs[1].ranks[0].steps.begin(), before);
  EXPECT_EQ(span(), small_result().replayed_span_ms);
}

TEST(ReplayResult, ARankWithoutChosenStepsHasNoSay) {
  ExecGraph graph = small_step();
  graph.ranks[0].steps[0].chosen = false;
  graph.ranks[0].steps[0].left_out_reason = "cut by the end of the trace";
  const ReplayResult result = replay_result(graph, simulate(graph), {});
  EXPECT_EQ(result.measured_ms, 0);
  EXPECT_TRUE(std::isnan(error_percent(result.measured_ms, result.replayed_ms)));
  EXPECT_NE(replay_json(result).find(R"("error_pct":null)"), std::string::npos);
  EXPECT_NE(replay_text(result).find("cut by the end of the trace"), std::string::npos);
}

TEST(ReplayRender, JsonNamesWhatTheSchemaNames) {
  const std::string json = replay_json(small_result());
  for (
      const char* part :
      {R"({"schema":"lumos.replay.v1","measured_ms":0.002,"replayed_ms":0.0018,"error_pct":-10,"mode":"strict")",
       R"("kernel_start_mae_us":0,"kernel_start_mae_pct":0,"unexplained_pct":10,"unexplained_measured_pct":10,"utilisation_mae":)",
       R"("tasks":{"cpu":10,"gpu":2})", R"("inter_stream_recorded":1,"inter_stream_inferred":0)",
       R"("steps":[{"name":"ProfilerStep#1","measured_ms":0.002,"replayed_ms":0.0018}])",
       R"("breakdown":{"measured":{"exposed_compute_ms":0.0005,"overlapped_ms":0,"exposed_comm_ms":0.0004,"other_ms":0.0011})",
       R"("input":{"events":0,"repaired":0,"skipped":0,"cut_short":0,"bytes":0}})"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
  }
}

TEST(ReplayRender, TextFitsATerminal) {
  ReplayResult result = small_result();
  result.ranks[0].file = std::string(200, 'x');
  result.ranks[0].constants = {{"launch:cudaLaunchKernel", 4200, 17}, {"dispatch:stream 7", 1100, 3}};
  ReplayResult many = result;
  many.ranks.push_back(many.ranks[0]);
  for (const std::string& text : {replay_text(result), replay_text(many)}) {
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      EXPECT_LE(end - at, 80u) << text;
    }
  }
}

}  // namespace
}  // namespace lumos

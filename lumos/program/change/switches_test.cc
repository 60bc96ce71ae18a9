#include "lumos/program/change/switches.h"

#include <gtest/gtest.h>

#include "lumos/graph/rank/build.h"
#include "lumos/program/predict.h"
#include "lumos/program/test_program.h"

namespace lumos {
namespace {

Recovery recover_trace(const TestTraceShape& shape, const std::string& recompute = "null") {
  auto job = resolve_job({{"num_layers", std::to_string(shape.layers)},
                          {"hidden_size", "1024"},
                          {"num_attention_heads", "16"},
                          {"seq_length", "1024"},
                          {"vocab_size", "32000"},
                          {"world_size", "1"},
                          {"num_microbatches", std::to_string(shape.microbatches)},
                          {"recompute_granularity", recompute}});
  EXPECT_TRUE(job) << (job ? "" : job.error().message);
  auto recovery = recover_job({build_graph(TestTrace(shape).table(), {})}, *job, default_network());
  EXPECT_TRUE(recovery) << (recovery ? "" : recovery.error().message);
  return std::move(*recovery);
}

Job changed(const Recovery& recovery, const std::vector<JobSetting>& settings) {
  auto target = change_job(recovery.job, settings);
  EXPECT_TRUE(target) << (target ? "" : target.error().message);
  return *target;
}

StepFigures figures(const Recovery& recovery, const std::vector<JobSetting>& settings) {
  const auto found = forecast(recovery, changed(recovery, settings), {});
  EXPECT_TRUE(found) << (found ? "" : found.error().message);
  return found->changed.mean;
}

double step_ms(const Recovery& recovery, const std::vector<JobSetting>& settings) {
  return figures(recovery, settings).step_ms;
}

/// Communication of each kind that the edited program has in the blocks of a role, per step.
int added(const Recovery& recovery, BlockRole role, CommKind kind) {
  const RankProgram& rank = recovery.program.ranks[0];
  int count = 0;
  for (const Block& block : rank.blocks) {
    if (block.role != role || block.label.step != 0) continue;
    for (uint32_t t = block.task_begin; t < block.task_end; ++t) {
      if (rank.tasks[t].kind != TaskKind::kTransfer) continue;
      const uint32_t index = recovery.transfers[0].of_row[rank.tasks[t].event];
      count += index != kNoIndex && recovery.transfers[0].transfers[index].kind == kind;
    }
  }
  return count;
}

TEST(Switches, NothingChangesWithoutOne) {
  const Recovery recovery = recover_trace({});
  EXPECT_FALSE(switches_between(recovery.job, recovery.job).any());
  EXPECT_FALSE(switches_between(recovery.job, changed(recovery, {{"num_layers", "8"}})).any());
}

TEST(Switches, ReplicasReduceGradientsWhereTheJobSays) {
  const Recovery recovery = recover_trace({});
  const Job late = changed(recovery, {{"data_parallel_size", "4"}});
  const Recovery after = apply_switches(recovery, late);
  EXPECT_EQ(added(after, BlockRole::kGradSync, CommKind::kAllReduce), 1);
  EXPECT_EQ(added(after, BlockRole::kBackwardLayer, CommKind::kAllReduce), 0);

  const Job early =
      changed(recovery, {{"data_parallel_size", "4"}, {"overlap_grad_reduce", "true"}, {"ddp_bucket_size", "1000000"}});
  const Recovery within = apply_switches(recovery, early);
  EXPECT_EQ(added(within, BlockRole::kGradSync, CommKind::kAllReduce), 0);
  // A bucket closes once a layer of this size is behind it; only the last micro-batch reduces.
  EXPECT_GE(added(within, BlockRole::kBackwardLayer, CommKind::kAllReduce), 1);
  EXPECT_LE(added(within, BlockRole::kBackwardLayer, CommKind::kAllReduce), 4 * TestTraceShape{}.layers);
}

TEST(Switches, ADistributedOptimizerScattersAndGathers) {
  const Recovery recovery = recover_trace({});
  const Job target = changed(recovery, {{"data_parallel_size", "4"}, {"use_distributed_optimizer", "true"}});
  const Recovery after = apply_switches(recovery, target);
  EXPECT_EQ(added(after, BlockRole::kGradSync, CommKind::kReduceScatter), 1);
  EXPECT_EQ(added(after, BlockRole::kOptimizer, CommKind::kAllGather), 1);
}

TEST(Switches, OverlappedReductionIsNoSlower) {
  const Recovery recovery = recover_trace({});
  const double late_ms = step_ms(recovery, {{"data_parallel_size", "4"}});
  const double early_ms = step_ms(recovery, {{"data_parallel_size", "4"}, {"overlap_grad_reduce", "true"}});
  EXPECT_GT(late_ms, step_ms(recovery, {}));
  EXPECT_LE(early_ms, late_ms * 1.001);
}

TEST(Switches, WithoutRecomputationABackwardIsAForwardShorter) {
  TestTraceShape shape;
  shape.recompute = true;
  const Recovery recovery = recover_trace(shape, "full");
  const double saved_ms =
      figures(recovery, {}).kernel_ms - figures(recovery, {{"recompute_granularity", "null"}}).kernel_ms;
  EXPECT_NEAR(saved_ms, 4 * 0.050 * shape.layers * shape.microbatches, 0.001);
}

TEST(Switches, AProductInSeveralLaunchesBringsItsCommunicationOnce) {
  const std::vector<std::vector<std::string>> layers = {
      {"norm", "gemm_qkv", "flash_core", "gemm_out", "norm_2", "gemm_fc1", "gelu", "gemm_fc2"},
      {"norm", "gemm_qkv", "splitKreduce", "flash_core", "gemm_out", "norm_2", "gemm_fc1", "gelu", "gemm_fc2"},
      {"norm", "gemm_query", "gemm_key", "gemm_value", "flash_core", "gemm_out", "norm_2", "gemm_gate", "gemm_up",
       "silu", "gemm_down"}};
  for (const std::vector<std::string>& layer : layers) {
    TestTraceShape shape;
    shape.layer = layer;
    const Recovery recovery = recover_trace(shape);
    const Recovery after = apply_switches(
        recovery, changed(recovery, {{"tensor_model_parallel_size", "2"}, {"sequence_parallel", "true"}}));
    const int layers_run = shape.layers * shape.microbatches;
    EXPECT_EQ(added(after, BlockRole::kForwardLayer, CommKind::kAllGather), 2 * layers_run) << layer.size();
    EXPECT_EQ(added(after, BlockRole::kForwardLayer, CommKind::kReduceScatter), 2 * layers_run) << layer.size();
    EXPECT_EQ(added(after, BlockRole::kBackwardLayer, CommKind::kReduceScatter), 2 * layers_run) << layer.size();
    EXPECT_EQ(added(after, BlockRole::kBackwardLayer, CommKind::kAllGather), 4 * layers_run) << layer.size();
  }
}

TEST(Switches, APipelineThatGrowsSplitsTheWork) {
  const Recovery recovery = recover_trace({});
  const double whole_ms = step_ms(recovery, {{"num_microbatches", "16"}});
  const double half_ms = step_ms(recovery, {{"num_microbatches", "16"}, {"pipeline_model_parallel_size", "2"}});
  EXPECT_GT(half_ms, 0.5 * whole_ms);
  EXPECT_LT(half_ms, 0.8 * whole_ms);
}

}  // namespace
}  // namespace lumos

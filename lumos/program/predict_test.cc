#include "lumos/program/predict.h"

#include <gtest/gtest.h>

#include "lumos/graph/rank/build.h"
#include "lumos/plan/parameters.h"
#include "lumos/program/test_program.h"

namespace lumos {
namespace {

Job job_of(const TestTraceShape& shape) {
  auto job = resolve_job({{"num_layers", std::to_string(shape.layers)},
                          {"hidden_size", "1024"},
                          {"num_attention_heads", "16"},
                          {"seq_length", "1024"},
                          {"vocab_size", "32000"},
                          {"world_size", "1"},
                          {"num_microbatches", std::to_string(shape.microbatches)},
                          {"recompute_granularity", shape.recompute ? "full" : "null"}});
  EXPECT_TRUE(job) << (job ? "" : job.error().message);
  return job ? *job : Job{};
}

Recovery recover_trace(const TestTraceShape& shape) {
  auto recovery = recover_job({build_graph(TestTrace(shape).table(), {})}, job_of(shape), default_network());
  EXPECT_TRUE(recovery) << (recovery ? "" : recovery.error().message);
  return std::move(*recovery);
}

double step_with(const Recovery& recovery, const std::vector<JobSetting>& settings) {
  const auto target = change_job(recovery.job, settings);
  EXPECT_TRUE(target) << (target ? "" : target.error().message);
  const auto found = forecast(recovery, *target, {});
  EXPECT_TRUE(found) << (found ? "" : found.error().message);
  return found->changed.mean.step_ms;
}

TEST(Predict, TheUnchangedJobTakesWhatItTook) {
  for (const bool recompute : {false, true}) {
    TestTraceShape shape;
    shape.recompute = recompute;
    const Recovery recovery = recover_trace(shape);
    const auto found = forecast(recovery, recovery.job, {});
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->changed.mean.step_ms / found->measured_ms, 1, 0.02);
  }
}

TEST(Predict, AStepThatHoldsMoreThanTheJobsIsLeftOutAndNamed) {
  TestTraceShape shape;
  shape.steps = 4;
  const double usual = recover_trace(shape).catalogs[0].steps.size() == 4u
                           ? forecast(recover_trace(shape), job_of(shape), {})->unchanged.mean.step_ms
                           : 0;
  TestTraceShape evaluated = shape, unmarked = shape;
  evaluated.evaluated_step = 1;
  unmarked.unmarked_step = 2;
  for (const TestTraceShape& odd : {evaluated, unmarked}) {
    const Recovery recovery = recover_trace(odd);
    for (const StepBlocks& step : recovery.catalogs[0].steps) EXPECT_EQ(step.forwards.size(), size_t(odd.microbatches));
    EXPECT_EQ(recovery.catalogs[0].left_out, (std::vector<int16_t>{1}));
    const auto found = forecast(recovery, job_of(odd), {});
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->unchanged.mean.step_ms / usual, 1, 0.02);
    ASSERT_FALSE(found->warnings.empty());
    EXPECT_NE(found->warnings.front().find("left out"), std::string::npos) << found->warnings.front();
  }
}

TEST(Predict, WithoutAnyStepOfTheJobTheUsualOnesAreTaken) {
  TestTraceShape shape;
  shape.steps = 4;
  shape.evaluated_step = 3;
  TestTraceShape other = shape;
  other.microbatches = shape.microbatches + 3;
  const auto graph = build_graph(TestTrace(shape).table(), {});
  const auto recovery = recover_job({graph}, job_of(other), default_network());
  ASSERT_TRUE(recovery);
  EXPECT_EQ(recovery->catalogs[0].left_out, (std::vector<int16_t>{3}));
}

/// Time of the optimizer's kernels in a plan of one step.
double optimizer_us(const Recovery& recovery, const Job& target) {
  const auto plan = plan_step(recovery, target, recovery.network, 0);
  EXPECT_TRUE(plan);
  const RankProgram& rank = recovery.program.ranks[0];
  double us = 0;
  for (const PlacedBlock& placed : plan->ranks[0].blocks) {
    const Block& block = rank.blocks[placed.block];
    if (block.role != BlockRole::kOptimizer) continue;
    const uint32_t row = rank.recovered.list.launches[block.launch_begin].gpu_row;
    us += placed.gpu_scale * static_cast<double>(rank.table->dur_ns[row]) / 1e3;
  }
  return us;
}

TEST(Predict, AnOptimizerGrowsWithTheModelHoweverItsKernelsFollowEachOther) {
  const std::vector<std::vector<std::string>> optimizers = {
      std::vector<std::string>(12, "adam"),
      {"mul_adam", "sqrt_adam", "mul_adam", "sqrt_adam", "mul_adam", "sqrt_adam", "mul_adam", "sqrt_adam"},
      {"norm_adam", "mul_adam", "addcmul_adam", "sqrt_adam", "mul_adam", "addcmul_adam", "sqrt_adam"},
      {"mul_adam", "sqrt_adam"},
      {"adam"}};
  for (const std::vector<std::string>& optimizer : optimizers) {
    TestTraceShape shape;
    shape.optimizer = optimizer;
    const Recovery recovery = recover_trace(shape);
    const auto target = change_job(recovery.job, {{"num_layers", "16"}});
    ASSERT_TRUE(target);
    const double wanted = static_cast<double>(stage_parameters(*target, 0).total()) /
                          static_cast<double>(stage_parameters(recovery.job, 0).total());
    const double grown = optimizer_us(recovery, *target) / optimizer_us(recovery, recovery.job);
    EXPECT_GT(wanted, 1.5);
    EXPECT_NEAR(grown, wanted, 0.2 * wanted) << optimizer.size();
  }
}

TEST(Predict, LayersAndMicrobatchesAddTheirKernels) {
  const TestTraceShape shape;
  const Recovery recovery = recover_trace(shape);
  const double now_ms = step_with(recovery, {});
  const double layer_ms = 8 * 0.051 * shape.microbatches;  // four kernels forward, four backward
  EXPECT_NEAR(step_with(recovery, {{"num_layers", "8"}}) - now_ms, 4 * layer_ms, 0.05 * now_ms);
  const double microbatch_ms = (8 * shape.layers + 4) * 0.051;
  EXPECT_NEAR(step_with(recovery, {{"num_microbatches", "6"}}) - now_ms, 3 * microbatch_ms, 0.05 * now_ms);
}

TEST(Predict, RecomputationCostsAForward) {
  const TestTraceShape shape;
  const Recovery recovery = recover_trace(shape);
  const double more_ms = step_with(recovery, {{"recompute_granularity", "full"}}) - step_with(recovery, {});
  EXPECT_NEAR(more_ms, 4 * 0.051 * shape.layers * shape.microbatches, 0.3);
}

TEST(Predict, RefusesWhatNoTraceShows) {
  const Recovery recovery = recover_trace({});
  Job target = recovery.job;
  target.context_parallel_size = 2;
  const auto found = forecast(recovery, target, {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kUsage);
}

TEST(Predict, TheSeedDecidesAndNothingElse) {
  const Recovery recovery = recover_trace({});
  const auto target = change_job(recovery.job, {{"num_layers", "12"}});
  ASSERT_TRUE(target);
  ForecastOptions one;
  one.threads = 1;
  ForecastOptions four;
  four.threads = 4;
  EXPECT_EQ(forecast(recovery, *target, one)->changed.mean.step_ms,
            forecast(recovery, *target, four)->changed.mean.step_ms);
}

}  // namespace
}  // namespace lumos

#include "lumos/program/predict.h"

#include <gtest/gtest.h>

#include "lumos/graph/build.h"
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

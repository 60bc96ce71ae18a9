#include "lumos/plan/pipeline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lumos {
namespace {

/// A pass that the host is in time for.
LaunchedWork gpu_work(double us) { return {0, us, us}; }

PipelineTimes equal_stages(PipelineSchedule schedule, int64_t stages, int64_t chunks, int64_t microbatches) {
  PipelineTimes times;
  times.shape = {schedule, stages, chunks, microbatches};
  const auto pieces = size_t(stages * chunks);
  times.forward.assign(pieces, gpu_work(10.0 / double(chunks)));
  times.backward.assign(pieces, gpu_work(20.0 / double(chunks)));
  times.reduced.resize(pieces);
  times.gathered.resize(pieces);
  times.message_us.assign(size_t(stages), 0);
  times.host_waits = false;
  return times;
}

double span_us(const std::vector<StageRun>& runs) {
  double span = 0;
  for (const StageRun& run : runs) span = std::max(span, run.end_us);
  return span;
}

PipelineSchedule schedule_of(int64_t chunks) {
  if (chunks > 1) return PipelineSchedule::kInterleaved;
  return *rc::gen::element(PipelineSchedule::kGpipe, PipelineSchedule::kOneForwardOneBackward);
}

RC_GTEST_PROP(Pipeline, EqualStagesTakeTheClosedForm, ()) {
  const int64_t stages = *rc::gen::inRange(1, 9), microbatches = stages * *rc::gen::inRange(1, 6);
  for (PipelineSchedule schedule : {PipelineSchedule::kGpipe, PipelineSchedule::kOneForwardOneBackward}) {
    const auto runs = run_pipeline(equal_stages(schedule, stages, 1, microbatches));
    RC_ASSERT(std::abs(span_us(runs) - double(microbatches + stages - 1) * 30) < 1e-6);
  }
}

TEST(Pipeline, InterleavingDividesTheBubbleByTheChunks) {
  const auto plain = run_pipeline(equal_stages(PipelineSchedule::kOneForwardOneBackward, 4, 1, 8));
  const auto interleaved = run_pipeline(equal_stages(PipelineSchedule::kInterleaved, 4, 2, 8));
  EXPECT_DOUBLE_EQ(span_us(plain), 8 * 30 + 3 * 30);
  EXPECT_DOUBLE_EQ(span_us(interleaved), 8 * 30 + 3 * 30 / 2.0);
}

TEST(Pipeline, TheSlowestStageSetsThePaceAndTheOthersWait) {
  PipelineTimes times = equal_stages(PipelineSchedule::kOneForwardOneBackward, 2, 1, 100);
  times.forward[1] = gpu_work(15);
  const auto runs = run_pipeline(times);
  EXPECT_NEAR(span_us(runs), 100 * 35 + 30, 1e-6);
  EXPECT_GT(runs[0].waiting_us, 99 * 5);
}

/// Any times of host and GPU that a list of kernels can have.
LaunchedWork any_work() {
  const double host = *rc::gen::inRange(0, 1000) / 7.0, gpu = *rc::gen::inRange(0, 1000) / 7.0;
  return {host, gpu, std::max(host, gpu) + *rc::gen::inRange(0, 70) / 7.0};
}

PipelineTimes any_times() {
  const int64_t stages = *rc::gen::inRange(1, 7), chunks = stages > 1 ? *rc::gen::inRange(1, 4) : 1;
  PipelineTimes times = equal_stages(schedule_of(chunks), stages, chunks, stages * *rc::gen::inRange(1, 5));
  for (double& us : times.message_us) us = stages > 1 ? *rc::gen::inRange(0, 40) : 0;
  times.exchange_host_us = *rc::gen::inRange(0, 10);
  times.after_message_us = *rc::gen::inRange(0, 10);
  times.exchange_blocks = *rc::gen::arbitrary<bool>();
  times.host_waits = *rc::gen::arbitrary<bool>();
  for (LaunchedWork& work : times.forward) work = any_work();
  for (LaunchedWork& work : times.backward) work = any_work();
  for (BesideBackward& beside : times.reduced) {
    const double us = *rc::gen::inRange(0, 100);
    beside = {us, us, us + 5};
  }
  for (BesideForward& beside : times.gathered)
    beside = {double(*rc::gen::inRange(0, 100)), double(*rc::gen::inRange(0, 100))};
  return times;
}

RC_GTEST_PROP(Pipeline, TimeOnAStageIsBusySendingWaitingOrIdle, ()) {
  for (const StageRun& run : run_pipeline(any_times())) {
    const double sum_us = run.busy_us + run.message_us + run.waiting_us + run.gather_us + run.idle_us;
    RC_ASSERT(std::abs(sum_us - run.end_us) < 1e-6);
    RC_ASSERT(run.waiting_us > -1e-9 && run.gather_us > -1e-9 && run.idle_us > -1e-9);
  }
}

RC_GTEST_PROP(Pipeline, NoStageEndsBeforeItsBound, ()) {
  const PipelineTimes times = any_times();
  const std::vector<StageRun> runs = run_pipeline(times);
  const std::vector<double> bounds_us = pipeline_end_bounds_us(times);
  for (size_t i = 0; i < runs.size(); ++i) RC_ASSERT(bounds_us[i] <= runs[i].end_us);
}

TEST(Pipeline, AnInterleavedExchangeHoldsUpTheOutputOfTheForwardBeforeIt) {
  // Between filling and draining, Megatron sends a forward pass's output only after the backward pass that follows it.
  PipelineTimes blocking = equal_stages(PipelineSchedule::kInterleaved, 2, 2, 4), beside = blocking;
  blocking.message_us.assign(2, 1);
  beside.message_us.assign(2, 1);
  beside.exchange_blocks = false;
  EXPECT_GT(span_us(run_pipeline(blocking)), span_us(run_pipeline(beside)));
}

TEST(Pipeline, AHostThatWaitsForExchangesLaunchesAnew) {
  PipelineTimes times = equal_stages(PipelineSchedule::kOneForwardOneBackward, 2, 1, 8);
  for (LaunchedWork& work : times.forward) work = {5, 10, 13};
  for (LaunchedWork& work : times.backward) work = {5, 20, 23};
  const double ahead_us = span_us(run_pipeline(times));
  times.host_waits = true;
  const double waiting_us = span_us(run_pipeline(times));
  EXPECT_GT(waiting_us, ahead_us + 8 * 3);
  EXPECT_LT(waiting_us, ahead_us + 2 * 8 * (3 + 2 * kSyncReturnUs));
}

TEST(Pipeline, ALateReductionDelaysTheHostThatWaitsForAll) {
  PipelineTimes times = equal_stages(PipelineSchedule::kInterleaved, 2, 2, 2);
  for (BesideBackward& beside : times.reduced) beside = {50, 10 + 50, 10 + 50};
  const auto apart = run_pipeline(times);
  EXPECT_NEAR(apart[0].reduced_us, apart[0].end_us + 50 + 50 - 20, 20);
  times.host_waits = true;
  EXPECT_GT(run_pipeline(times)[0].end_us, apart[0].end_us + 10);
}

TEST(Pipeline, AFirstPassEndsWhenItsParametersHaveCome) {
  PipelineTimes times = equal_stages(PipelineSchedule::kOneForwardOneBackward, 1, 1, 2);
  times.gathered[0] = {100, 105};
  const auto runs = run_pipeline(times);
  EXPECT_DOUBLE_EQ(runs[0].end_us, 105 + 10 + 2 * 20);
  EXPECT_DOUBLE_EQ(runs[0].gather_us, 95);
}

TEST(Pipeline, TheBoundOfEqualStagesWithoutMessagesIsTheirTime) {
  for (int64_t chunks : {1, 3}) {
    const PipelineSchedule schedule =
        chunks > 1 ? PipelineSchedule::kInterleaved : PipelineSchedule::kOneForwardOneBackward;
    const PipelineTimes times = equal_stages(schedule, 4, chunks, 8);
    EXPECT_NEAR(pipeline_end_bounds_us(times)[0], span_us(run_pipeline(times)), 1e-6 * span_us(run_pipeline(times)));
  }
}

}  // namespace
}  // namespace lumos

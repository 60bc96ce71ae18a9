#include "lumos/model/pipeline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace lumos {
namespace {

PipelineTimes equal_stages(PipelineSchedule schedule, int64_t stages, int64_t chunks, int64_t microbatches) {
  PipelineTimes times;
  times.num_stages = stages;
  times.num_chunks = chunks;
  times.num_microbatches = microbatches;
  times.schedule = schedule;
  times.forward_us.assign(size_t(stages * chunks), 10.0 / double(chunks));
  times.backward_us.assign(size_t(stages * chunks), 20.0 / double(chunks));
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

RC_GTEST_PROP(Pipeline, EveryScheduleRunsEveryPassOnceAndForwardFirst, ()) {
  const int64_t stages = *rc::gen::inRange(2, 7), chunks = *rc::gen::inRange(1, 4), rounds = *rc::gen::inRange(1, 5);
  const int64_t microbatches = stages * rounds;
  const PipelineSchedule schedule = schedule_of(chunks);
  for (int64_t stage = 0; stage < stages; ++stage) {
    std::set<std::pair<int, int>> open, done;
    size_t most = 0;
    for (const PipelineSlot& slot : stage_schedule(schedule, stages, chunks, microbatches, stage)) {
      const std::pair<int, int> pass{slot.chunk, slot.microbatch};
      if (slot.forward) {
        RC_ASSERT(open.insert(pass).second);
      } else {
        RC_ASSERT(open.erase(pass) == 1u);
        RC_ASSERT(done.insert(pass).second);
      }
      most = std::max(most, open.size());
    }
    RC_ASSERT(int64_t(done.size()) == microbatches * chunks);
    RC_ASSERT(int64_t(most) == passes_in_flight(schedule, stages, chunks, microbatches, stage));
  }
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
  times.forward_us[1] += 5;
  const auto runs = run_pipeline(times);
  EXPECT_NEAR(span_us(runs), 100 * 35 + 30, 1e-6);
  EXPECT_GT(runs[0].waiting_us, 99 * 5);
}

RC_GTEST_PROP(Pipeline, TimeOnAStageIsBusySendingOrWaiting, ()) {
  PipelineTimes times = equal_stages(PipelineSchedule::kOneForwardOneBackward, *rc::gen::inRange(1, 6), 1, 7);
  times.message_us = *rc::gen::inRange(0, 10);
  times.message_blocks_sender = *rc::gen::arbitrary<bool>();
  for (const StageRun& run : run_pipeline(times)) {
    RC_ASSERT(std::abs(run.busy_us + run.message_us + run.waiting_us - run.end_us) < 1e-6);
  }
}

RC_GTEST_PROP(Pipeline, NoStageEndsBeforeItsBound, ()) {
  const int64_t stages = *rc::gen::inRange(1, 7), chunks = stages > 1 ? *rc::gen::inRange(1, 4) : 1;
  PipelineTimes times = equal_stages(schedule_of(chunks), stages, chunks, stages * *rc::gen::inRange(1, 5));
  times.message_us = *rc::gen::inRange(0, 40);
  times.message_blocks_sender = *rc::gen::arbitrary<bool>();
  for (double& us : times.forward_us) us = *rc::gen::inRange(0, 1000) / 7.0;
  for (double& us : times.backward_us) us = *rc::gen::inRange(0, 1000) / 7.0;
  const std::vector<StageRun> runs = run_pipeline(times);
  const std::vector<double> bounds_us = pipeline_end_bounds_us(times);
  for (size_t i = 0; i < runs.size(); ++i) RC_ASSERT(bounds_us[i] <= runs[i].end_us);
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

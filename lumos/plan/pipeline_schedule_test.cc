#include "lumos/plan/pipeline_schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <utility>

namespace lumos {
namespace {

RC_GTEST_PROP(PipelineSchedule, EveryScheduleRunsEveryPassOnceAndForwardFirst, ()) {
  PipelineShape shape;
  shape.num_stages = *rc::gen::inRange(2, 7);
  shape.num_chunks = *rc::gen::inRange(1, 4);
  shape.num_microbatches = shape.num_stages * *rc::gen::inRange(1, 5);
  shape.schedule = shape.num_chunks > 1
                       ? PipelineSchedule::kInterleaved
                       : *rc::gen::element(PipelineSchedule::kGpipe, PipelineSchedule::kOneForwardOneBackward);
  for (int64_t stage = 0; stage < shape.num_stages; ++stage) {
    std::set<std::pair<int, int>> open, done;
    size_t most = 0;
    for (int64_t n = 0; n < num_slots(shape); ++n) {
      int passes = 0;
      for (const PipelineStep& step : slot_of_stage(shape, stage, n)) {
        if (step.kind == PipelineStepKind::kExchange) {
          RC_ASSERT(step.sends.size() + step.receives.size() > 0u);
          continue;
        }
        ++passes;
        const std::pair<int, int> pass{step.chunk, step.microbatch};
        if (step.kind == PipelineStepKind::kForward) {
          RC_ASSERT(open.insert(pass).second);
        } else {
          RC_ASSERT(open.erase(pass) == 1u);
          RC_ASSERT(done.insert(pass).second);
        }
      }
      RC_ASSERT(passes == 1);
      most = std::max(most, open.size());
    }
    RC_ASSERT(int64_t(done.size()) == shape.num_microbatches * shape.num_chunks);
    RC_ASSERT(int64_t(most) == passes_in_flight(shape, stage));
  }
}

TEST(PipelineSchedule, OneStageExchangesNothing) {
  const PipelineShape shape{PipelineSchedule::kOneForwardOneBackward, 1, 1, 3};
  for (int64_t n = 0; n < num_slots(shape); ++n) {
    const PipelineSlot slot = slot_of_stage(shape, 0, n);
    ASSERT_EQ(slot.size(), 1u);
    EXPECT_EQ(slot[0].kind, n % 2 == 0 ? PipelineStepKind::kForward : PipelineStepKind::kBackward);
  }
}

}  // namespace
}  // namespace lumos

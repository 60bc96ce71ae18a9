#include "lumos/program/facts/rank_place.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

Job job(int64_t tensor, int64_t data, int64_t pipeline) {
  Job job;
  job.tensor_model_parallel_size = tensor;
  job.data_parallel_size = data;
  job.pipeline_model_parallel_size = pipeline;
  job.world_size = tensor * data * pipeline;
  return job;
}

TEST(RankPlace, CountsThroughTheAxesInTheOrderOfTheJob) {
  const RankPlace place = place_of(job(2, 4, 2), 13);
  EXPECT_EQ(place.tensor, 1);
  EXPECT_EQ(place.data, 2);
  EXPECT_EQ(place.stage, 1);
  Job other = job(2, 4, 2);
  other.rank_order = "tp-pp-dp";
  EXPECT_EQ(place_of(other, 13).stage, 0);
  EXPECT_EQ(place_of(other, 13).data, 3);
}

TEST(RankPlace, MembersThatShareANodeAreCounted) {
  EXPECT_EQ(span_along(job(2, 4, 2), Axis::kData), (GroupSpan{4, 4}));
  EXPECT_EQ(span_along(job(2, 8, 2), Axis::kData), (GroupSpan{8, 4}));
  EXPECT_EQ(span_along(job(8, 2, 1), Axis::kData), (GroupSpan{2, 1}));
  EXPECT_TRUE(span_of_stages(job(2, 4, 2), 0, 1).crosses_nodes());
  EXPECT_FALSE(span_of_stages(job(2, 2, 2), 0, 1).crosses_nodes());
}

}  // namespace
}  // namespace lumos

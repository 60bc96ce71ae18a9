#include "lumos/plan/buckets.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lumos/base/test_data.h"
#include "lumos/model/job/job_file.h"
#include "lumos/model/job/test_jobs.h"
#include "lumos/plan/make_plan.h"
#include "lumos/plan/parameters.h"

namespace lumos {
namespace {

std::vector<Bucket> buckets_of(const Job& job, int64_t stage = 0) {
  return stage_buckets(job, plan_of(job, job.gpus_per_node), stage);
}

TEST(Buckets, ALayerOfGpt3ClosesThree) {
  Job job = read_job_file(source_path("configs/jobs/gpt3-175b.toml"))->job;
  job = *change_job(job, {{"tensor_model_parallel_size", "8"},
                          {"pipeline_model_parallel_size", "1"},
                          {"virtual_pipeline_model_parallel_size", "1"},
                          {"num_layers", "4"},
                          {"data_parallel_size", "2"},
                          {"overlap_grad_reduce", "true"},
                          {"use_distributed_optimizer", "false"},
                          {"overlap_param_gather", "false"},
                          {"ddp_bucket_size", "40000000"}});
  const std::vector<Bucket> buckets = buckets_of(job);
  // From the end: the FFN's two matrices, then queries, keys and values; the projection waits for the layer before. The
  // first one holds the final norm as well, the last projection goes with the positions, the words are alone.
  ASSERT_EQ(buckets.size(), 3u * 4 + 2);
  const auto matrix = [&](int64_t width) { return job.hidden_size * width / 8; };
  EXPECT_NEAR(double(buckets[1].parameters), double(matrix(job.ffn_hidden_size)), 1e5);
  EXPECT_NEAR(double(buckets[2].parameters), double(matrix(3 * job.hidden_size)), 1e5);
  EXPECT_NEAR(double(buckets[3].parameters), double(matrix(job.ffn_hidden_size + job.hidden_size)), 1e5);
}

TEST(Buckets, OnlyTheFirstChunkOfTheFirstStageIsCutUp) {
  const Job job = test_job({{"pipeline_model_parallel_size", "2"},
                            {"virtual_pipeline_model_parallel_size", "2"},
                            {"data_parallel_size", "2"},
                            {"overlap_grad_reduce", "true"},
                            {"ddp_bucket_size", "1000"}});
  const auto of_chunk = [](const std::vector<Bucket>& buckets, int64_t chunk) {
    return std::count_if(buckets.begin(), buckets.end(), [&](const Bucket& b) { return b.chunk == chunk; });
  };
  EXPECT_GT(of_chunk(buckets_of(job, 0), 0), 1);
  EXPECT_EQ(of_chunk(buckets_of(job, 0), 1), 1);
  EXPECT_EQ(of_chunk(buckets_of(job, 1), 0), 1);
  EXPECT_EQ(of_chunk(buckets_of(job, 1), 1), 1);
}

TEST(Buckets, ATiedMatrixOnTwoStagesIsAloneWhereReplicasShareItsUpdate) {
  const Job job = test_job({{"pipeline_model_parallel_size", "2"},
                            {"data_parallel_size", "2"},
                            {"use_distributed_optimizer", "true"},
                            {"untie_embeddings_and_output_weights", "false"}});
  const auto words = word_embedding_parameters(job);
  EXPECT_EQ(buckets_of(job, 0).back().parameters, words);
  EXPECT_EQ(buckets_of(job, 1).front().parameters, words);
}

RC_GTEST_PROP(Buckets, HoldEveryParameterOnceAndCloseFromTheEnd, ()) {
  const auto flag = [] { return *rc::gen::arbitrary<bool>() ? "true" : "false"; };
  const std::string pp = *rc::gen::element<std::string>("1", "2", "4");
  const Job job = test_job({{"pipeline_model_parallel_size", pp},
                            {"virtual_pipeline_model_parallel_size", pp == "2" ? "2" : "1"},
                            {"data_parallel_size", "2"},
                            {"swiglu", flag()},
                            {"add_bias_linear", flag()},
                            {"untie_embeddings_and_output_weights", flag()},
                            {"overlap_grad_reduce", flag()},
                            {"use_distributed_optimizer", flag()},
                            {"ddp_bucket_size", std::to_string(*rc::gen::inRange(1, 100'000'000))}});
  for (int64_t stage = 0; stage < job.pipeline_model_parallel_size; ++stage) {
    const std::vector<Bucket> buckets = buckets_of(job, stage);
    int64_t sum = 0;
    for (size_t i = 0; i < buckets.size(); ++i) {
      sum += buckets[i].parameters;
      RC_ASSERT(buckets[i].part <= buckets[i].last_part);
      if (i > 0 && buckets[i].chunk == buckets[i - 1].chunk) RC_ASSERT(buckets[i].last_part <= buckets[i - 1].part);
    }
    RC_ASSERT(sum == stage_parameters(job, stage).total());
  }
}

}  // namespace
}  // namespace lumos

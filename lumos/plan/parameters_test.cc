#include "lumos/plan/parameters.h"

#include <gtest/gtest.h>

#include "lumos/model/job/job_file.h"
#include "lumos/model/job/test_jobs.h"
#include "lumos/plan/flops.h"
#include "lumos/plan/layer_work.h"
#include "lumos/plan/make_plan.h"

namespace lumos {
namespace {

Job shipped_job(const std::string& name) {
  const auto file = read_job_file(source_path("configs/jobs/" + name + ".toml"));
  EXPECT_TRUE(file) << file.error().message;
  return file->job;
}

TEST(Parameters, CountsAreThoseOfTheModelsNames) {
  EXPECT_NEAR(static_cast<double>(model_parameters(shipped_job("gpt3-15b"))) / 1e9, 15, 0.5);
  EXPECT_NEAR(static_cast<double>(model_parameters(shipped_job("gpt3-44b"))) / 1e9, 44, 1);
  EXPECT_NEAR(static_cast<double>(model_parameters(shipped_job("gpt3-117b"))) / 1e9, 117, 1);
  EXPECT_NEAR(static_cast<double>(model_parameters(shipped_job("gpt3-175b"))) / 1e9, 175, 1);
  EXPECT_NEAR(static_cast<double>(model_parameters(shipped_job("llama3-8b"))) / 1e9, 8.03, 0.01);
  EXPECT_NEAR(static_cast<double>(model_parameters(shipped_job("llama3-70b"))) / 1e9, 70.55, 0.05);
  EXPECT_NEAR(static_cast<double>(model_parameters(shipped_job("llama3-405b"))) / 1e9, 405.85, 0.3);
}

TEST(Parameters, StagesOfAllRanksAddUpToTheModel) {
  const Job job = test_job(
      {{"tensor_model_parallel_size", "4"}, {"pipeline_model_parallel_size", "2"}, {"add_bias_linear", "false"}});
  int64_t total = 0;
  for (int64_t stage = 0; stage < 2; ++stage) total += 4 * stage_parameters(job, stage).total();
  // Norms and positions are on every tensor-parallel rank, the tied matrix on both ends.
  const int64_t norms = 2 * job.hidden_size * (2 * job.num_layers + 1);
  const int64_t copies =
      3 * (norms + job.max_position_embeddings * job.hidden_size) + padded_vocab_size(job) * job.hidden_size;
  EXPECT_EQ(total, model_parameters(job) + copies);
}

TEST(Flops, KernelListsDoTheWorkThatTheFormulaCounts) {
  const Job job = test_job({{"tensor_model_parallel_size", "2"},
                            {"use_flash_attn", "false"},
                            {"num_query_groups", "4"},
                            {"swiglu", "true"}});
  const Cluster cluster = test_cluster();
  WorkTimes total;
  const Plan plan = plan_of(job, cluster.gpus_per_node);
  const LayerWork layer = layer_work(plan.layer, plan), head = layer_work(plan.head, plan);
  total += work_times(layer.forward, cluster) * 8;
  total += work_times(layer.backward, cluster) * 8;
  total += work_times(head.forward, cluster);
  total += work_times(head.backward, cluster);
  const double step_flops = total.matrix_flops * double(job.num_microbatches * job.tensor_model_parallel_size);
  EXPECT_NEAR(step_flops, model_flops(job), 1e-6 * model_flops(job));
}

TEST(Flops, RecomputationAddsToHardwareFlopsOnly) {
  const Job job = test_job();
  const Job full = test_job({{"recompute_granularity", "full"}});
  const Job selective = test_job({{"recompute_granularity", "selective"}});
  EXPECT_EQ(model_flops(full), model_flops(job));
  EXPECT_EQ(hardware_flops(job), model_flops(job));
  EXPECT_GT(hardware_flops(selective), model_flops(job));
  EXPECT_GT(hardware_flops(full), hardware_flops(selective));
  EXPECT_LT(hardware_flops(full), 4.0 / 3 * model_flops(job)) << "the head is not repeated";
}

}  // namespace
}  // namespace lumos

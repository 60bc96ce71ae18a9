#include "lumos/plan/estimate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lumos/model/job/job_fields.h"
#include "lumos/model/job/test_jobs.h"
#include "lumos/plan/flops.h"

namespace lumos {
namespace {

Estimate estimate_of(const Job& job, const Cluster& cluster = test_cluster()) {
  const Result<Estimate> result = estimate(job, cluster);
  EXPECT_TRUE(result) << result.error().message;
  return result.value_or(Estimate{});
}

double sum(const StepBreakdown& b) { return b.exposed_compute_ms + b.overlapped_ms + b.exposed_comm_ms + b.other_ms; }

Job any_job() {
  const auto power = [](int most) { return std::to_string(1 << *rc::gen::inRange(0, most)); };
  const std::string pp = power(4);
  const bool interleaved = pp != "1" && pp != "8" && *rc::gen::arbitrary<bool>();
  const auto flag = [] { return *rc::gen::arbitrary<bool>() ? "true" : "false"; };
  return test_job({{"tensor_model_parallel_size", power(4)},
                   {"pipeline_model_parallel_size", pp},
                   {"virtual_pipeline_model_parallel_size", interleaved ? "2" : "1"},
                   {"data_parallel_size", power(5)},
                   {"num_microbatches", std::to_string(8 * *rc::gen::inRange(1, 4))},
                   {"sequence_parallel", flag()},
                   {"use_distributed_optimizer", flag()},
                   {"overlap_grad_reduce", flag()},
                   {"overlap_p2p_comm", flag()},
                   {"swiglu", flag()},
                   {"use_flash_attn", flag()},
                   {"recompute_granularity", *rc::gen::element<std::string>("", "selective", "full")}});
}

RC_GTEST_PROP(Estimate, PartsSumToTheStepAndAreNotNegative, ()) {
  const Estimate result = estimate_of(any_job());
  RC_ASSERT(std::abs(sum(result.breakdown) - result.step_ms) < 1e-6 * result.step_ms);
  for (double part : {result.breakdown.exposed_compute_ms, result.breakdown.overlapped_ms,
                      result.breakdown.exposed_comm_ms, result.breakdown.other_ms}) {
    RC_ASSERT(part > -1e-6);
  }
  RC_ASSERT(result.mfu_pct > 0 && result.mfu_pct < 100);
  RC_ASSERT(result.hfu_pct >= result.mfu_pct * (1 - 1e-12));
}

RC_GTEST_PROP(Estimate, AFasterMachineIsNotSlower, ()) {
  const Job job = any_job();
  const double step_ms = estimate_of(job).step_ms;
  for (std::string_view name : {"gpu.matrix_tflops", "gpu.memory_gb_per_s", "node.gb_per_s", "fabric.gb_per_s"}) {
    Cluster faster = test_cluster();
    find_cluster_field(name)->real(faster) *= 2;
    RC_ASSERT(estimate_of(job, faster).step_ms <= step_ms * 1.0000001);
  }
}

RC_GTEST_PROP(Estimate, MoreLayersAndMicroBatchesTakeLonger, ()) {
  const Job job = any_job();
  const double step_ms = estimate_of(job).step_ms;
  RC_ASSERT(estimate_of(*change_job(job, "num_layers", "16")).step_ms > step_ms);
  const int64_t more = 2 * job.num_microbatches;
  RC_ASSERT(estimate_of(*change_job(job, "num_microbatches", std::to_string(more))).step_ms > step_ms);
}

TEST(Estimate, RecomputationCostsAboutAForwardPass) {
  const Cluster cluster = test_cluster();
  const double none_ms = estimate_of(test_job()).pipeline_ms;
  const double full_ms = estimate_of(test_job({{"recompute_granularity", "full"}})).pipeline_ms;
  EXPECT_GT(full_ms, 1.15 * none_ms);
  EXPECT_LT(full_ms, 1.35 * none_ms);
}

TEST(Estimate, ASlowHostSetsThePace) {
  Cluster cluster = test_cluster();
  cluster.host.launch_us = 500;
  const Estimate result = estimate_of(test_job(), cluster);
  EXPECT_GT(result.breakdown.other_ms, 0.5 * result.step_ms);
}

TEST(Estimate, OverlapHidesTheGradientReductionButItsLastBucket) {
  const std::vector<JobSetting> split = {{"data_parallel_size", "64"}, {"micro_batch_size", "4"},
                                         {"hidden_size", "8192"},      {"num_attention_heads", "64"},
                                         {"kv_channels", "128"},       {"ffn_hidden_size", "32768"}};
  std::vector<JobSetting> overlapped = split;
  overlapped.emplace_back("overlap_grad_reduce", "true");
  const Estimate apart = estimate_of(test_job(split)), beside = estimate_of(test_job(overlapped));
  EXPECT_LT(beside.gradient_reduction_ms, 0.2 * apart.gradient_reduction_ms);
  EXPECT_GT(beside.gradient_reduction_ms, 0);
  EXPECT_GT(beside.breakdown.overlapped_ms, 0);
}

TEST(Estimate, AHundredThousandGpusCostWhatOneReplicaCosts) {
  const Job job = test_job({{"tensor_model_parallel_size", "8"},
                            {"pipeline_model_parallel_size", "8"},
                            {"world_size", "100032"},
                            {"num_microbatches", "16"}});
  EXPECT_EQ(job.data_parallel_size, 1563);
  EXPECT_GT(estimate_of(job).step_ms, 0);
}

TEST(Estimate, AClusterThatIsTooSmallIsAnError) {
  Cluster cluster = test_cluster();
  cluster.num_nodes = 1;
  const auto result = estimate(test_job({{"data_parallel_size", "16"}}), cluster);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("world_size 16"), std::string::npos);
}

TEST(Estimate, AnFp32JobIsMeasuredAgainstThePeakOfItsNumbers) {
  Cluster cluster = test_cluster();
  for (double peak : {20.0, 60.0, 150.0}) {
    cluster.gpu.fp32_tflops = peak;
    const Estimate half = estimate_of(test_job(), cluster);
    const Estimate full = estimate_of(test_job({{"params_dtype", "fp32"}}), cluster);
    EXPECT_NEAR(full.mfu_pct, 100 * full.tflops_per_gpu / peak, 1e-9);
    EXPECT_NEAR(half.mfu_pct, 100 * half.tflops_per_gpu / cluster.gpu.matrix_tflops, 1e-9);
    EXPECT_LT(full.mfu_pct, 100);
    EXPECT_GT(full.step_ms, half.step_ms);
  }
}

TEST(Estimate, TokensOfTheLargestBatchesAreCounted) {
  for (const char* tokens : {"2048", "1000000000"}) {
    Job job = test_job({{"position_embedding_type", "rope"}});
    ASSERT_TRUE(set_job_field(job, *find_job_field("seq_length"), tokens));
    for (int64_t batch : {int64_t{1}, int64_t{1'000'000}, kLargestBatch}) {
      job.global_batch_size = batch;
      EXPECT_EQ(tokens_per_step(job), static_cast<double>(batch) * std::stod(tokens));
    }
  }
}

// Sequence parallelism saves memory-bound work and pays with starts of collectives: how dear these are decides.
TEST(Estimate, SequenceParallelismPaysWhereCollectivesStartFast) {
  const Job without =
      test_job({{"hidden_size", "6144"}, {"num_attention_heads", "48"}, {"tensor_model_parallel_size", "2"}});
  const Job with = *change_job(without, "sequence_parallel", "true");
  Cluster cluster = test_cluster();
  cluster.arrival_spread_us = cluster.node.hop_us = 0;
  const auto gained_ms = [&](double start_us) {
    cluster.node.latency_us = cluster.node.low_latency_us = start_us;
    return estimate(without, cluster)->step_ms - estimate(with, cluster)->step_ms;
  };
  EXPECT_GT(gained_ms(0), 0);
  double before_ms = gained_ms(0);
  for (double start_us : {5.0, 10.0, 20.0, 40.0}) {
    EXPECT_LT(gained_ms(start_us), before_ms) << start_us;
    before_ms = gained_ms(start_us);
  }
  EXPECT_LT(before_ms, 0);
}

}  // namespace
}  // namespace lumos

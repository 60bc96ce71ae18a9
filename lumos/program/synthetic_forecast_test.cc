// Predictions of jobs whose GPUs set the pace, beside the same jobs synthesized.
#include <gtest/gtest.h>

#include <cmath>

#include "lumos/program/test_synthetic.h"

namespace lumos {
namespace {

Job large_job(const Settings& settings) {
  return test_job({{"num_layers", "16"},
                   {"hidden_size", "4096"},
                   {"num_attention_heads", "32"},
                   {"seq_length", "2048"},
                   {"num_microbatches", "8"}},
                  settings);
}

/// Borders between stages lie within nodes and between them, and the last stage sends to the first.
TEST(SyntheticForecast, AJobOverSeveralNodesComesOutAsItWas) {
  const Cluster cluster = test_cluster();
  for (const Settings& settings : {Settings{{"virtual_pipeline_model_parallel_size", "2"}, {"batch_p2p_sync", "true"}},
                                   Settings{{"virtual_pipeline_model_parallel_size", "2"}, {"batch_p2p_sync", "false"}},
                                   Settings{{"batch_p2p_sync", "true"}}}) {
    Settings all = {{"pipeline_model_parallel_size", "4"}, {"data_parallel_size", "4"}};
    all.insert(all.end(), settings.begin(), settings.end());
    const Job job = large_job(all);
    EXPECT_NEAR(predicted_ms(recover_synthetic(job, cluster), {}) / synthetic_step_ms(job, cluster), 1, 0.015);
  }
}

/// A single stage meets nobody at the end of its step; several wait for the slowest of them.
TEST(SyntheticForecast, StagesThatAJobGetsEndTheirStepTogether) {
  const Cluster cluster = test_cluster();
  for (const Settings& settings :
       {Settings{{"tensor_model_parallel_size", "2"}, {"data_parallel_size", "2"}},
        Settings{{"data_parallel_size", "2"}}, Settings{{"tensor_model_parallel_size", "2"}}}) {
    const Recovery recovery = recover_synthetic(large_job(settings), cluster);
    for (const char* stages : {"2", "4", "8"}) {
      const Settings change = {{"pipeline_model_parallel_size", stages}};
      const Job target = change_job(recovery.job, change).value();
      EXPECT_NEAR(predicted_ms(recovery, change) / synthetic_step_ms(target, cluster), 1, 0.08) << stages;
    }
  }
}

/// Products that add to a gradient move twice its bytes.
TEST(SyntheticForecast, TheTypeOfGradientsCountsInTheProductsThatAddThem) {
  const Cluster cluster = test_cluster();
  for (const char* before : {"true", "false"}) {
    const Settings change = {{"grad_reduce_in_fp32", *before == 't' ? "false" : "true"}};
    const Job job = large_job({{"data_parallel_size", "2"}, {"grad_reduce_in_fp32", before}});
    const Recovery recovery = recover_synthetic(job, cluster);
    const Job target = change_job(recovery.job, change).value();
    const double made_ms = synthetic_step_ms(target, cluster);
    EXPECT_GT(std::abs(synthetic_step_ms(job, cluster) / made_ms - 1), 0.03);
    EXPECT_NEAR(predicted_ms(recovery, change) / made_ms, 1, 0.015) << before;
  }
}

/// Products of 32-bit numbers run at a peak of their own, those of attention as well, fused or not.
TEST(SyntheticForecast, TheTypeOfNumbersCountsInAttentionAsInOtherProducts) {
  const Cluster cluster = test_cluster();
  for (const char* fused : {"true", "false"}) {
    for (const char* before : {"fp32", "bf16"}) {
      const Settings change = {{"params_dtype", *before == 'f' ? "bf16" : "fp32"}};
      const Job job = large_job({{"seq_length", "4096"}, {"use_flash_attn", fused}, {"params_dtype", before}});
      if (*fused == 't' && *before == 'b') continue;  // refused
      const Recovery recovery = recover_synthetic(job, cluster);
      const Job target = change_job(recovery.job, change).value();
      EXPECT_NEAR(predicted_ms(recovery, change) / synthetic_step_ms(target, cluster), 1, 0.1)
          << fused << " " << before;
    }
  }
}

/// One sequence of one head is 64 blocks of attention, so that a second one fills what the first had left.
TEST(SyntheticForecast, FewHeadsOfAGpuLeaveMultiprocessorsWithoutWork) {
  const Cluster cluster = test_cluster();
  const auto of = [](const char* sequences) {
    return large_job({{"num_attention_heads", "8"},
                      {"kv_channels", "256"},
                      {"seq_length", "8192"},
                      {"num_layers", "4"},
                      {"tensor_model_parallel_size", "8"},
                      {"micro_batch_size", sequences}});
  };
  for (const char* before : {"1", "2", "4"}) {
    const Recovery recovery = recover_synthetic(of(before), cluster);
    for (const char* after : {"1", "2", "4"}) {
      const double made_ms = synthetic_step_ms(of(after), cluster);
      EXPECT_NEAR(predicted_ms(recovery, {{"micro_batch_size", after}}) / made_ms, 1, 0.05) << before << " " << after;
    }
  }
}

/// Gradients and parameters that move at once at the end of a step, or in buckets beside the passes: with more layers,
/// with wider ones, and with a larger vocabulary alone.
TEST(SyntheticForecast, WhatReplicasExchangeGrowsWithTheParameters) {
  const Cluster cluster = test_cluster();
  const std::vector<Settings> changes = {
      {{"vocab_size", "128256"}},
      {{"num_layers", "32"}},
      {{"hidden_size", "6144"}, {"ffn_hidden_size", "24576"}, {"num_attention_heads", "48"}}};
  for (const char* overlap : {"true", "false"}) {
    for (const char* sharded : {"true", "false"}) {
      const Job job = large_job({{"ffn_hidden_size", "16384"},
                                 {"num_microbatches", "1"},
                                 {"data_parallel_size", "4"},
                                 {"overlap_grad_reduce", overlap},
                                 {"use_distributed_optimizer", sharded}});
      const Recovery recovery = recover_synthetic(job, cluster);
      for (const Settings& change : changes) {
        const Job target = change_job(recovery.job, change).value();
        EXPECT_NEAR(predicted_ms(recovery, change) / synthetic_step_ms(target, cluster), 1, 0.05)
            << overlap << " " << sharded << " " << change.front().first;
      }
    }
  }
}

/// Collectives of one size do not tell their start from their bytes, and a model that is off by that must not take the
/// difference for waiting, which would grow with the kernels.
TEST(SyntheticForecast, CollectivesThatNeverVaryDoNotWaitLongerBesideLargerKernels) {
  const Cluster cluster = test_cluster();
  const Job job = large_job({{"hidden_size", "1024"},
                             {"num_attention_heads", "8"},
                             {"seq_length", "1024"},
                             {"micro_batch_size", "2"},
                             {"tensor_model_parallel_size", "4"},
                             {"pipeline_model_parallel_size", "4"}});
  const Settings change = {{"hidden_size", "6144"}, {"ffn_hidden_size", "24576"}, {"num_attention_heads", "48"}};
  const Recovery recovery = recover_synthetic(job, cluster);
  const Job target = change_job(recovery.job, change).value();
  EXPECT_NEAR(predicted_ms(recovery, change) / synthetic_step_ms(target, cluster), 1, 0.2);
}

}  // namespace
}  // namespace lumos

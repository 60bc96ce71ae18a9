// Predictions of jobs whose hosts set the pace: the GPUs idle, so what they have to do hardly counts, and all that the
// hosts do counts in full.
#include <gtest/gtest.h>

#include "lumos/base/test_data.h"
#include "lumos/program/test_sets.h"
#include "lumos/program/test_synthetic.h"

namespace lumos {
namespace {

/// A job of so small layers that launching them takes longer than running them.
Job host_bound_job(const Settings& settings) {
  return test_job({{"num_layers", "8"},
                   {"hidden_size", "512"},
                   {"num_attention_heads", "8"},
                   {"seq_length", "512"},
                   {"tensor_model_parallel_size", "2"},
                   {"pipeline_model_parallel_size", "2"},
                   {"data_parallel_size", "2"},
                   {"num_microbatches", "4"}},
                  settings);
}

TEST(HostBoundForecast, AChangedJobTakesWhatItTakesWhenSynthesized) {
  const Cluster cluster = test_cluster();
  const std::vector<Settings> schedules = {
      {{"batch_p2p_sync", "true"}},
      {{"batch_p2p_sync", "false"}},
      {{"virtual_pipeline_model_parallel_size", "2"}, {"batch_p2p_sync", "true"}},
      {{"virtual_pipeline_model_parallel_size", "2"}, {"batch_p2p_sync", "false"}},
      {{"virtual_pipeline_model_parallel_size", "2"}, {"overlap_p2p_comm", "true"}}};
  const std::vector<Settings> changes = {
      {{"num_microbatches", "12"}}, {{"num_layers", "16"}}, {{"micro_batch_size", "2"}}};
  for (const Settings& schedule : schedules) {
    const Recovery recovery = recover_synthetic(host_bound_job(schedule), cluster);
    for (const Settings& change : changes) {
      const Job target = change_job(recovery.job, change).value();
      const double made_ms = synthetic_step_ms(target, cluster);
      EXPECT_NEAR(predicted_ms(recovery, change) / made_ms, 1, 0.03)
          << schedule.back().first << " = " << schedule.back().second << ", chunks "
          << recovery.job.virtual_pipeline_model_parallel_size << ", " << change.front().first;
    }
  }
}

/// In the emulated job compute kernels that take half or one and a half times as long change the step by 0.3 %. By how
/// much a replica is ahead of the others stays as it was traced here, though slower kernels would cost it some of that.
TEST(HostBoundForecast, KernelsThatFitBesideTheHostDoNotLengthenTheStep) {
  const std::string folder = data_path("vcluster/tiny-2x2x2");
  SKIP_WITHOUT_DATA(folder);
  const Recovery recovery = recover_set(folder);
  Recovery faster = recovery, slower = recovery;
  for (auto [changed, factor] : {std::pair{&faster, 0.5}, std::pair{&slower, 1.5}})
    for (RankProgram& rank : changed->program.ranks)
      for (BlockTask& task : rank.tasks)
        if (task.kind == TaskKind::kKernel)
          task.duration_ns = static_cast<int64_t>(factor * static_cast<double>(task.duration_ns));
  const double now_ms = predicted_ms(recovery, {});
  EXPECT_NEAR(predicted_ms(faster, {}) / now_ms, 1, 0.03);
  EXPECT_NEAR(predicted_ms(slower, {}) / now_ms, 1, 0.07);
}

/// Whichever replica stands for the others, hosts that are apart by a few percent keep the step apart by no more.
TEST(HostBoundForecast, TheStepGrowsAsTheHostsWork) {
  const std::string folder = data_path("vcluster/tiny-2x2x2");
  SKIP_WITHOUT_DATA(folder);
  const Recovery recovery = recover_set(folder);
  const double now_ms = predicted_ms(recovery, {});
  const double layers_ms = predicted_ms(recovery, {{"num_layers", "80"}});
  EXPECT_GT(layers_ms, 7 * now_ms);
  EXPECT_LT(layers_ms, 10.5 * now_ms);
  EXPECT_LT(predicted_ms(recovery, {{"micro_batch_size", "2"}}), 1.2 * now_ms);
}

}  // namespace
}  // namespace lumos

#include "lumos/plan/memory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumos/base/csv.h"
#include "lumos/base/toml.h"
#include "lumos/model/job/job_file.h"
#include "lumos/model/job/measured_runs.h"
#include "lumos/model/job/test_jobs.h"

namespace lumos {
namespace {

double peak(const Job& job) {
  double most = 0;
  for (const StageMemory& stage : stage_memory(job)) most = std::max(most, stage.peak());
  return most;
}

TEST(Memory, ALayerKeepsWhatKorthikantiCount) {
  // s b h (34 + 5 a s / h) bytes without parallelism; divided by t where tensor and sequence parallelism reach.
  const Job job = test_job({{"use_flash_attn", "false"}});
  const double sbh = 2048.0 * 1024;
  EXPECT_DOUBLE_EQ(layer_activation_bytes(job), sbh * (34 + 5.0 * 16 * 2048 / 1024));
  const Job split = test_job({{"use_flash_attn", "false"}, {"tensor_model_parallel_size", "4"}});
  EXPECT_DOUBLE_EQ(layer_activation_bytes(split), sbh * (10 + 24.0 / 4 + 5.0 * 16 * 2048 / 1024 / 4));
  const Job sequence =
      test_job({{"use_flash_attn", "false"}, {"tensor_model_parallel_size", "4"}, {"sequence_parallel", "true"}});
  EXPECT_DOUBLE_EQ(layer_activation_bytes(sequence), layer_activation_bytes(job) / 4);
}

TEST(Memory, MixedPrecisionAdamTakesEighteenBytesPerParameterAndLessWhenDistributed) {
  const Job job = test_job({{"data_parallel_size", "4"}});
  const StageMemory whole = stage_memory(job)[0];
  EXPECT_DOUBLE_EQ(whole.parameters + whole.gradients + whole.optimizer, 9 * whole.parameters);
  const Job distributed = test_job({{"data_parallel_size", "4"}, {"use_distributed_optimizer", "true"}});
  EXPECT_DOUBLE_EQ(stage_memory(distributed)[0].optimizer, whole.optimizer / 4);
}

TEST(Memory, EarlierStagesKeepMoreMicroBatches) {
  const Job job = test_job({{"pipeline_model_parallel_size", "4"}});
  const auto stages = stage_memory(job);
  ASSERT_EQ(stages.size(), 4u);
  const double per_pass = stages[2].activations - stages[1].activations;
  EXPECT_NEAR(stages[1].activations, -3 * per_pass, 1);
  EXPECT_GT(stages[0].activations, stages[1].activations);
  const Job gpipe = test_job({{"pipeline_model_parallel_size", "4"}, {"pipeline_schedule", "gpipe"}});
  EXPECT_NEAR(stage_memory(gpipe)[1].activations, -8 * per_pass, 1);
  const Job interleaved =
      test_job({{"pipeline_model_parallel_size", "4"}, {"virtual_pipeline_model_parallel_size", "2"}});
  EXPECT_GT(stage_memory(interleaved)[0].activations, stages[0].activations);
}

TEST(Memory, RecomputationAndSequenceParallelismSave) {
  const Job job =
      test_job({{"tensor_model_parallel_size", "2"}, {"use_flash_attn", "false"}, {"micro_batch_size", "4"}});
  const double none = peak(job);
  const double selective = peak(change_job(job, "recompute_granularity", "selective").value());
  const double full = peak(change_job(job, "recompute_granularity", "full").value());
  EXPECT_LT(selective, none);
  EXPECT_LT(full, selective);
  EXPECT_LT(peak(change_job(job, "sequence_parallel", "true").value()), none);
}

TEST(Memory, AShortageNamesTheWorstStage) {
  Cluster cluster = test_cluster();
  // Four stages: the first keeps the most micro-batches, and they outweigh the logits of the last.
  const auto stages = stage_memory(test_job({{"pipeline_model_parallel_size", "4"}, {"num_layers", "32"}}));
  EXPECT_EQ(memory_shortage(stages, cluster), "");
  cluster.gpu.memory_gib = 2.5;
  const std::string text = memory_shortage(stages, cluster);
  EXPECT_TRUE(text.starts_with("does not fit in 2.5 GiB: ")) << text;
  EXPECT_TRUE(text.ends_with(" GiB on stage 0")) << text;
}

TEST(Memory, MeasuredPeaksAreWithinFourPercentWithNothingFitted) {
  const std::string path = data_path("measured/llama3-70b-b200.csv");
  SKIP_WITHOUT_DATA(path);
  const std::string common_path = source_path("configs/calibration/simumax-b200.toml");
  const auto value = read_value_file(common_path);
  ASSERT_TRUE(value) << value.error().message;
  const auto common = common_job(settings_from_value(ValueView(*value, common_path)).value(), {});
  const auto runs = measured_runs(read_csv_file(path).value(), *common);
  ASSERT_TRUE(runs) << runs.error().message;
  for (const MeasuredRun& run : *runs) {
    EXPECT_NEAR(peak(run.job) / kGib, *run.peak_allocated_gib, 0.04 * *run.peak_allocated_gib) << "line " << run.line;
  }
}

}  // namespace
}  // namespace lumos

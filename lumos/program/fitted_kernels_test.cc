#include "lumos/program/fitted_kernels.h"

#include <gtest/gtest.h>

#include "lumos/model/known_gpus.h"
#include "lumos/program/test_synthetic.h"

namespace lumos {
namespace {

Recovery small_layers() {
  const Job job = test_job({{"num_layers", "4"},
                            {"hidden_size", "1024"},
                            {"num_attention_heads", "8"},
                            {"seq_length", "1024"},
                            {"pipeline_model_parallel_size", "2"},
                            {"num_microbatches", "4"}});
  return recover_synthetic(job, test_cluster());
}

// The head is in one stage only: fitted by themselves, the stages would see different GPUs.
TEST(FittedKernels, StagesShareTheConstantsOfTheirGpu) {
  const Recovery recovery = small_layers();
  ASSERT_EQ(recovery.kernels.size(), 2u);
  EXPECT_EQ(recovery.kernels[0].matrix_tflops, recovery.kernels[1].matrix_tflops);
  EXPECT_EQ(recovery.kernels[0].gemm_tile_start_us, recovery.kernels[1].gemm_tile_start_us);
}

// Products that are all start and no work fit any speed.
TEST(FittedKernels, NoGpuIsFasterThanItsDataSheet) {
  const Recovery recovery = small_layers();
  for (const Gpu& gpu : recovery.kernels) {
    const auto known = known_gpu(recovery.program.ranks[0].table->info.devices.at(0).name);
    ASSERT_TRUE(known);
    EXPECT_LE(gpu.matrix_tflops, known->matrix_tflops);
  }
}

// One GPU that is slower than the others is no other kind of GPU, but its shortest kernels are its own.
TEST(FittedKernels, ASlowGpuDoesNotChangeTheConstantsOfTheOthers) {
  const Recovery recovery = small_layers();
  std::vector<RankProgram> ranks = {recovery.program.ranks[0], recovery.program.ranks[0], recovery.program.ranks[0]};
  const std::vector<std::vector<RoleOf>> roles(3, recovery.roles[0]);
  const std::vector<Gpu> equal = fit_kernels(ranks, roles, recovery.job);
  for (BlockTask& task : ranks[2].tasks) task.duration_ns = task.duration_ns * 5 / 4;
  const std::vector<Gpu> uneven = fit_kernels(ranks, roles, recovery.job);
  EXPECT_EQ(uneven[0].matrix_tflops, equal[0].matrix_tflops);
  EXPECT_EQ(uneven[2].matrix_tflops, equal[2].matrix_tflops);
  EXPECT_EQ(uneven[0].kernel_floor_us, equal[0].kernel_floor_us);
  EXPECT_GT(uneven[2].kernel_floor_us, equal[2].kernel_floor_us);
}

}  // namespace
}  // namespace lumos

#include "lumos/program/measure/fitted_kernels.h"

#include <gtest/gtest.h>

#include "lumos/model/cluster/known_gpus.h"
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
  for (const size_t gpus : {size_t{2}, size_t{3}, size_t{4}}) {
    std::vector<RankProgram> ranks(gpus, recovery.program.ranks[0]);
    const std::vector<std::vector<RoleOf>> roles(gpus, recovery.roles[0]);
    const std::vector<Gpu> equal = fit_kernels(ranks, roles, recovery.job, 1);
    for (BlockTask& task : ranks.back().tasks) task.duration_ns = task.duration_ns * 5 / 4;
    const std::vector<Gpu> uneven = fit_kernels(ranks, roles, recovery.job, 1);
    EXPECT_EQ(uneven[0].matrix_tflops, equal[0].matrix_tflops);
    EXPECT_EQ(uneven.back().matrix_tflops, equal[0].matrix_tflops);
    EXPECT_EQ(uneven[0].kernel_floor_us, equal[0].kernel_floor_us);
    EXPECT_GT(uneven.back().kernel_floor_us, equal[0].kernel_floor_us);
  }
}

// 32-bit products have peaks of their own: whatever they reach, 16-bit ones stay below the data sheet.
TEST(FittedKernels, ProductsOf32BitsDoNotMakeThoseOf16BitsFasterThanThePeak) {
  Job job = small_layers().job;
  job = change_job(job, {{"params_dtype", "fp32"}}).value();
  Recovery recovery = recover_synthetic(job, test_cluster());
  for (RankProgram& rank : recovery.program.ranks)
    for (BlockTask& task : rank.tasks) task.duration_ns /= 6;  // as TF32 would
  for (const Gpu& gpu : fit_kernels(recovery.program.ranks, recovery.roles, job, 1)) {
    const auto known = known_gpu(recovery.program.ranks[0].table->info.devices.at(0).name);
    EXPECT_LE(gpu.matrix_tflops, known->matrix_tflops);
    EXPECT_GT(gpu.fp32_tflops, known->fp32_tflops);
  }
}

}  // namespace
}  // namespace lumos

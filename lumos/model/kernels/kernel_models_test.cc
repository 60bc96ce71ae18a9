// Laws that every kernel model keeps: more work never takes less time, and limits are where they must be.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lumos/model/job/test_jobs.h"
#include "lumos/model/kernels/attention.h"
#include "lumos/model/kernels/elementwise.h"
#include "lumos/model/kernels/gemm.h"
#include "lumos/model/kernels/kernel_work.h"

namespace lumos {
namespace {

int64_t multiple_of_8(int most) { return 8 * *rc::gen::inRange(1, most); }

RC_GTEST_PROP(Gemm, NeverPassesThePeak, ()) {
  const GemmShape shape{multiple_of_8(2048), multiple_of_8(2048), multiple_of_8(2048), *rc::gen::inRange(1, 64)};
  const Gpu gpu = test_cluster().gpu;
  const double tflops = gemm_flops(shape) / gemm_us(shape, gpu) / 1e6;
  RC_ASSERT(tflops <= gpu.matrix_tflops * gpu.gemm_peak_fraction * 1.0001);
  RC_ASSERT(gemm_us(shape, gpu) >= gpu.kernel_floor_us);
}

RC_GTEST_PROP(Gemm, MoreOfADimensionTakesNoLessTime, ()) {
  const GemmShape shape{multiple_of_8(1024), multiple_of_8(1024), multiple_of_8(1024), *rc::gen::inRange(1, 16)};
  const Gpu gpu = test_cluster().gpu;
  const double base_us = gemm_us(shape, gpu);
  for (int64_t GemmShape::*extent : {&GemmShape::m, &GemmShape::n, &GemmShape::k}) {
    GemmShape more = shape;
    more.*extent *= 2;
    RC_ASSERT(gemm_us(more, gpu) >= base_us * 0.9999);
  }
  GemmShape more = shape;
  more.batch += 1;
  RC_ASSERT(gemm_us(more, gpu) >= base_us * 0.9999);
}

TEST(Gemm, ALargeProductReachesThePeakFraction) {
  const Gpu gpu = test_cluster().gpu;
  const GemmShape shape{16384, 16384, 16384};
  const double share = gemm_flops(shape) / gemm_us(shape, gpu) / 1e6 / gpu.matrix_tflops;
  EXPECT_NEAR(share, gpu.gemm_peak_fraction, 0.05 * gpu.gemm_peak_fraction);
}

TEST(Gemm, AThinProductIsBoundByMemory) {
  const Gpu gpu = test_cluster().gpu;
  const GemmShape shape{8, 16384, 16384};
  const double memory_us = gemm_bytes(shape) / (gpu.memory_gb_per_s * gpu.memory_peak_fraction * 1e3);
  EXPECT_NEAR(gemm_us(shape, gpu), memory_us + gpu.kernel_floor_us, 0.2 * memory_us);
}

TEST(Gemm, OddRowsAreSlowAndHalfAlignedOnesLessSo) {
  const Gpu gpu = test_cluster().gpu;
  const double aligned_us = gemm_us({4096, 50304, 4096}, gpu);
  const double by_four_us = gemm_us({4096, 50300, 4096}, gpu);
  const double odd_us = gemm_us({4096, 50303, 4096}, gpu);
  EXPECT_GT(by_four_us, 1.2 * aligned_us);
  EXPECT_GT(odd_us, 1.5 * by_four_us);
  EXPECT_NEAR(aligned_us / odd_us, gpu.gemm_unaligned_fraction, 0.05);
}

TEST(Gemm, AnOddNumberOfRowsIsNotMisaligned) {
  const Gpu gpu = test_cluster().gpu;
  const GemmShape forward{4096, 8192, 4096}, input_gradient{4096, 4096, 8192};
  const GemmShape weight_gradient{8192, 4096, 4096, 1, 2, true};
  for (int64_t fewer : {1, 2, 3, 5}) {
    for (GemmShape shape : {forward, input_gradient}) {
      const double whole_us = gemm_us(shape, gpu);
      shape.m -= fewer;
      EXPECT_NEAR(gemm_us(shape, gpu), whole_us, 0.01 * whole_us);
    }
    GemmShape fewer_tokens = weight_gradient;
    fewer_tokens.k -= fewer;
    EXPECT_NEAR(gemm_us(fewer_tokens, gpu), gemm_us(weight_gradient, gpu), 0.01 * gemm_us(weight_gradient, gpu));
    GemmShape odd_features = weight_gradient;
    odd_features.m -= fewer;
    EXPECT_GT(gemm_us(odd_features, gpu), 1.3 * gemm_us(weight_gradient, gpu));
  }
}

TEST(Attention, CausalIsHalfAndBackwardIsTwoAndAHalfTimesTheFlops) {
  AttentionShape shape{1, 4096, 4096, 32, 32, 128};
  AttentionShape full = shape, backward = shape;
  full.causal = false;
  backward.backward = true;
  EXPECT_DOUBLE_EQ(attention_flops(full), 2 * attention_flops(shape));
  EXPECT_DOUBLE_EQ(attention_flops(backward), 2.5 * attention_flops(shape));
  const Gpu gpu = test_cluster().gpu;
  EXPECT_GT(attention_us(backward, gpu), 2.5 * attention_us(shape, gpu));
}

/// A block takes as long on a GPU that has nothing beside it.
TEST(Attention, HeadsThatDoNotFillTheGpuTakeAsLongAsThoseThatDo) {
  Gpu gpu = test_cluster().gpu;
  gpu.sm_count = 128;
  gpu.kernel_floor_us = 0;
  for (bool backward : {false, true}) {
    AttentionShape shape{1, 4096, 4096, 4, 4, 128};  // 32 blocks of each head
    shape.backward = backward;
    const auto us = [&](int64_t batch, int64_t heads) {
      shape.batch = batch;
      shape.heads = shape.key_heads = heads;
      return attention_us(shape, gpu);
    };
    EXPECT_DOUBLE_EQ(us(1, 1), us(1, 4));
    EXPECT_DOUBLE_EQ(us(1, 2), us(2, 2));
    EXPECT_DOUBLE_EQ(us(1, 3), us(1, 4));
    EXPECT_DOUBLE_EQ(us(1, 8), 2 * us(1, 4));
    EXPECT_DOUBLE_EQ(us(1, 5), 1.625 * us(1, 4));  // a quarter of a second wave: between its share and a whole one
    EXPECT_NEAR(us(16, 5) / us(16, 4), 1.25, 0.01);
  }
}

TEST(Attention, NoLengthPassesThePeak) {
  Gpu gpu = test_cluster().gpu;
  gpu.attention_peak_fraction = 1;
  for (const bool backward : {false, true}) {
    for (const int64_t keys : {512, 4096, 65536}) {
      const AttentionShape shape{4, keys, keys, 32, 32, 128, keys > 4096, backward};
      EXPECT_LE(attention_flops(shape) / attention_us(shape, gpu) / 1e6, gpu.matrix_tflops);
    }
  }
}

RC_GTEST_PROP(Attention, GrowsWithEveryExtent, ()) {
  const Gpu gpu = test_cluster().gpu;
  AttentionShape shape{*rc::gen::inRange<int64_t>(1, 9), 0, 0, *rc::gen::inRange<int64_t>(1, 65), 1, 128};
  shape.query_length = shape.key_length = *rc::gen::inRange<int64_t>(1, 9000);
  shape.backward = *rc::gen::arbitrary<bool>();
  for (int64_t AttentionShape::*extent :
       {&AttentionShape::batch, &AttentionShape::query_length, &AttentionShape::key_length, &AttentionShape::heads}) {
    AttentionShape more = shape;
    more.*extent += *rc::gen::inRange<int64_t>(1, 300);
    RC_ASSERT(attention_us(more, gpu) >= attention_us(shape, gpu));
  }
}

RC_GTEST_PROP(Elementwise, GrowsWithBytesFromAFloor, (uint32_t bytes, uint32_t more)) {
  const Gpu gpu = test_cluster().gpu;
  RC_ASSERT(elementwise_us(bytes, gpu) >= gpu.kernel_floor_us);
  RC_ASSERT(elementwise_us(double(bytes) + more, gpu) >= elementwise_us(bytes, gpu));
}

TEST(WorkTimes, ACollectiveBesideComputeHidesBehindTheNextProduct) {
  const Cluster cluster = test_cluster();
  const KernelWork product{"p", GemmShape{8192, 8192, 8192}};
  KernelWork reduce{"r", Collective{CollectiveKind::kAllReduce, 1e6, {8, 8}}};
  const WorkTimes before = work_times({reduce, product}, cluster);
  reduce.beside_compute = true;
  const WorkTimes beside = work_times({reduce, product}, cluster);
  EXPECT_GT(before.comm_us, 0);
  EXPECT_EQ(beside.comm_us, 0);
  EXPECT_DOUBLE_EQ(beside.overlapped_us, before.comm_us);
  EXPECT_DOUBLE_EQ(beside.compute_us, before.compute_us);
}

TEST(WorkTimes, AGroupOfOneCostsNothing) {
  const WorkTimes times = work_times({{"r", Collective{CollectiveKind::kAllReduce, 1e9, {1, 1}}}}, test_cluster());
  EXPECT_EQ(times.comm_us, 0);
  EXPECT_EQ(times.launches, 0);
}

// 32-bit numbers stay 32 bits unless a framework is told to round them.
TEST(KernelModels, Fp32ProductsRunAtTheirOwnPeak) {
  Gpu gpu = test_cluster().gpu;
  for (double peak : {8.1, 19.5, 67.0, 163.4}) {
    gpu.fp32_tflops = peak;
    const GemmShape wide{8192, 8192, 8192, 1, 4};
    const double reached = gemm_flops(wide) / gemm_us(wide, gpu) / 1e6;
    EXPECT_LE(reached, peak * gpu.gemm_peak_fraction * 1.0001);
    EXPECT_GE(reached, peak * gpu.gemm_peak_fraction * 0.9);
    AttentionShape attention{1, 4096, 4096, 32, 32, 128};  // the length that the fraction is for
    attention.element_bytes = 4;
    EXPECT_LE(attention_flops(attention) / attention_us(attention, gpu) / 1e6, peak * gpu.attention_peak_fraction);
  }
  gpu.fp32_tflops = 0;
  EXPECT_EQ(peak_tflops(gpu, 4), gpu.matrix_tflops / 16);
  EXPECT_EQ(peak_tflops(gpu, 2), gpu.matrix_tflops);
}

/// Speed over that at 4096 keys, beside published figures.
void expect_speeds(bool backward, bool causal, const std::vector<std::pair<int64_t, double>>& published) {
  Gpu gpu = test_cluster().gpu;
  gpu.kernel_floor_us = 0;
  const auto tflops = [&](int64_t keys) {
    AttentionShape shape{16384 / keys, keys, keys, 16, 16, 128, causal, backward};
    return attention_flops(shape) / attention_us(shape, gpu) / 1e6;
  };
  double at_4096 = 0;
  for (const auto& [keys, speed] : published) at_4096 = keys == 4096 ? speed : at_4096;
  for (const auto& [keys, speed] : published)
    EXPECT_NEAR(tflops(keys) / tflops(4096) / (speed / at_4096), 1, keys < 1024 ? 0.12 : 0.03) << keys << " keys";
}

// FlashAttention-2 on H100 SXM, head size 128, 16,384 tokens: Shah et al. 2024, figures 5 and 6. The model's constants
// are fitted on these figures.
TEST(Attention, LongSequencesAreFasterAsPublished) {
  expect_speeds(false, true, {{512, 191}, {1024, 260}, {2048, 298}, {4096, 319}, {8192, 333}, {16384, 335}});
  expect_speeds(false, false, {{512, 309}, {1024, 350}, {2048, 362}, {4096, 368}, {8192, 370}, {16384, 370}});
  expect_speeds(true, false, {{512, 214}, {1024, 260}, {2048, 291}, {4096, 310}, {8192, 318}, {16384, 322}});
}

}  // namespace
}  // namespace lumos

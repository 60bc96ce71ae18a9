// Predictions of other pipelines from a traced one: every schedule must run to its end, and none may be faster than its
// work and its bubble.
#include <gtest/gtest.h>

#include "lumos/base/test_data.h"
#include "lumos/program/anchor.h"
#include "lumos/program/test_sets.h"

namespace lumos {
namespace {

std::string number(int value) { return std::to_string(value); }

TEST(PipelineForecast, EveryScheduleRunsToItsEnd) {
  const std::string folder = data_path("vcluster/tiny-2x2x2");
  SKIP_WITHOUT_DATA(folder);
  const Recovery recovery = recover_set(folder);
  ForecastOptions options;
  options.seeds = 1;
  for (const int stages : {2, 4}) {
    for (const int chunks : {1, 2, 4}) {
      for (const int microbatches : {stages, 2 * stages, 8 * stages}) {
        if (recovery.job.num_layers % (stages * chunks) != 0) continue;
        const auto target = change_job(recovery.job, {{"pipeline_model_parallel_size", number(stages)},
                                                      {"virtual_pipeline_model_parallel_size", number(chunks)},
                                                      {"num_microbatches", number(microbatches)}});
        ASSERT_TRUE(target) << target.error().message;
        const auto found = forecast(recovery, *target, options);
        ASSERT_TRUE(found) << stages << " stages, " << chunks << " chunks: " << found.error().message;
        // The slowest stage's work, and that of one micro-batch through the other stages' shares of a chunk.
        const double work_ms = found->changed.mean.kernel_ms;
        const double bubble_ms = work_ms * (stages - 1) / (chunks * microbatches);
        EXPECT_GT(found->changed.mean.step_ms, 0.9 * (work_ms + bubble_ms))
            << stages << " stages, " << chunks << " chunks, " << microbatches << " micro-batches";
      }
    }
  }
}

TEST(Anchor, TheTracedJobIsEstimatedAsItWasMeasured) {
  const std::string folder = data_path("vcluster/tiny-2x2x2");
  SKIP_WITHOUT_DATA(folder);
  const Recovery recovery = recover_set(folder);
  const Result<Cluster> cluster = read_cluster_file(source_path("configs/clusters/dgx-h100.toml"));
  ASSERT_TRUE(cluster) << cluster.error().message;
  const Result<Anchor> anchor = make_anchor(recovery, *cluster, 77.5);
  ASSERT_TRUE(anchor) << anchor.error().message;
  const Result<Estimate> found = estimate(recovery.job, anchor->cluster, anchor->scales);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_NEAR(found->step_ms, 77.5, 1e-6);
  EXPECT_NEAR(found->breakdown.exposed_compute_ms + found->breakdown.overlapped_ms + found->breakdown.exposed_comm_ms +
                  found->breakdown.other_ms,
              77.5, 1e-3);
  EXPECT_LE(step_lower_bound_ms(recovery.job, anchor->cluster, anchor->scales), 77.5);
  EXPECT_GT(anchor->scales.layer_forward.host, 0.1);
}

}  // namespace
}  // namespace lumos

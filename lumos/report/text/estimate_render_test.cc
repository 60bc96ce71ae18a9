#include "lumos/report/text/estimate_render.h"

#include <gtest/gtest.h>

#include "lumos/model/job/test_jobs.h"

namespace lumos {
namespace {

// What is assumed about a machine is said where it matters, and only there.
TEST(EstimateRender, AnAssumedPeakOfFp32IsSaid) {
  for (const char* type : {"bf16", "fp16", "fp32"}) {
    const Job job = test_job({{"params_dtype", type}});
    for (double peak : {0.0, 67.0}) {
      Cluster cluster = test_cluster();
      cluster.gpu.fp32_tflops = peak;
      const std::string text = estimate_text(job, cluster, *estimate(job, cluster));
      const bool assumed = job.params_dtype == ParamsType::kFp32 && peak == 0;
      EXPECT_EQ(text.find("is assumed") != std::string::npos, assumed) << text;
      EXPECT_NE(text.find(fmt::format("of {:g} TFLOP/s", peak_tflops(cluster.gpu, element_bytes(job)))),
                std::string::npos)
          << text;
    }
  }
}

}  // namespace
}  // namespace lumos

#include "lumos/plan/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumos/model/job/test_jobs.h"
#include "lumos/plan/estimate.h"
#include "lumos/plan/least_squares.h"

namespace lumos {
namespace {

TEST(LeastSquares, FindsTheParametersOfACurveInSpiteOfOutliers) {
  FitProblem problem;
  problem.num_residuals = 40;
  problem.initial = {1, 1};
  problem.lower = {1e-3, 1e-3};
  problem.upper = {1e3, 1e3};
  problem.prior_weight = {0, 0};
  problem.residuals = [](std::span<const double> p, std::span<double> residuals) {
    for (size_t i = 0; i < residuals.size(); ++i) {
      const double x = double(i + 1);
      const double seen = (7 + 0.3 * x) * (i % 10 == 9 ? 2 : 1);
      residuals[i] = std::log((p[0] + p[1] * x) / seen);
    }
  };
  const FitResult result = fit(problem);
  EXPECT_NEAR(result.parameters[0], 7, 0.2);
  EXPECT_NEAR(result.parameters[1], 0.3, 0.02);
}

TEST(LeastSquares, KeepsBounds) {
  FitProblem problem;
  problem.num_residuals = 1;
  problem.initial = {1};
  problem.lower = {0.5};
  problem.upper = {2};
  problem.prior_weight = {0};
  problem.residuals = [](std::span<const double> p, std::span<double> residuals) {
    residuals[0] = std::log(p[0] / 10);
  };
  EXPECT_NEAR(fit(problem).parameters[0], 2, 1e-9);
}

TEST(LeastSquares, WhatTheDataLeaveOpenFollowsTheWeakerPrior) {
  FitProblem problem;
  problem.num_residuals = 1;
  problem.initial = {1, 1};
  problem.lower = {0.01, 0.01};
  problem.upper = {100, 100};
  problem.prior_weight = {1, 0.01};
  problem.residuals = [](std::span<const double> p, std::span<double> residuals) {
    residuals[0] = std::log(p[0] * p[1] / 4);
  };
  const FitResult result = fit(problem);
  EXPECT_NEAR(result.parameters[0], 1, 0.1);
  EXPECT_NEAR(result.parameters[1], 4, 0.4);
}

/// Steps of many jobs on a cluster, as if measured.
std::vector<MeasuredRun> runs_on(const Cluster& cluster) {
  std::vector<MeasuredRun> runs;
  for (const char* tp : {"1", "2", "4"}) {
    for (const char* size : {"1", "2", "4"}) {
      for (const char* hidden : {"512", "1024", "2048", "4096"}) {
        MeasuredRun run;
        run.job = test_job({{"tensor_model_parallel_size", tp},
                            {"micro_batch_size", size},
                            {"hidden_size", hidden},
                            {"kv_channels", std::to_string(std::stoi(hidden) / 16)},
                            {"ffn_hidden_size", std::to_string(std::stoi(hidden) * 4)}});
        run.step_ms = estimate(run.job, cluster)->step_ms;
        runs.push_back(run);
      }
    }
  }
  return runs;
}

TEST(Calibrate, FindsTheMachineThatMadeTheRuns) {
  Cluster truth = test_cluster();
  truth.gpu.gemm_peak_fraction = 0.5;
  truth.gpu.memory_peak_fraction = 0.6;
  truth.host.launch_us = 30;
  const auto fit = calibrate_runs(test_cluster(), runs_on(truth), {}, "hidden_size");
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_LE(fit->constants.size(), kMaxFittedConstants);
  EXPECT_LT(fit->in_sample.mean_pct, 1);
  EXPECT_NEAR(fit->cluster.gpu.gemm_peak_fraction, 0.5, 0.03);
  EXPECT_NEAR(fit->cluster.host.launch_us, 30, 2);
  ASSERT_EQ(fit->left_out.size(), 4u);
  EXPECT_LT(fit->left_out_total.mean_pct, 5);
}

TEST(Calibrate, RefusesWhatItCannotFit) {
  const auto runs = runs_on(test_cluster());
  EXPECT_FALSE(calibrate_runs(test_cluster(), {}, {}, "hidden_size"));
  EXPECT_FALSE(calibrate_runs(test_cluster(), runs, {"gpu.memory_gib"}, "hidden_size"));
  EXPECT_FALSE(calibrate_runs(test_cluster(), runs, std::vector<std::string>(13, "host.step_us"), "hidden_size"));
  EXPECT_FALSE(calibrate_runs(test_cluster(), runs, {}, "no_such_field"));
}

TEST(MeasuredRuns, RowsChangeTheCommonJobAndErrorsNameTheLine) {
  const auto table =
      parse_csv("num_gpus,tensor_model_parallel_size,step_ms,remark\n16,2,12.5,x\n16,3,1,y\n", "runs.csv");
  const CommonJob common{test_job(), {}};
  const auto run = measured_run(*table, 0, common);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->job.data_parallel_size, 8);
  EXPECT_EQ(run->step_ms, 12.5);
  const auto bad = measured_run(*table, 1, common);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("runs.csv:3"), std::string::npos);
  EXPECT_EQ(unread_columns(*table), std::vector<std::string>{"remark"});
}

TEST(MeasuredRuns, ARowAloneMayCompleteTheJob) {
  const auto table = parse_csv("num_layers,hidden_size,num_attention_heads\n4,512,8\n", "runs.csv");
  const auto common = common_job({{"seq_length", "128"}, {"vocab_size", "1000"}}, {{"micro_batch_size", "2"}});
  const auto run = measured_run(*table, 0, *common);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->job.kv_channels, 64);
  EXPECT_EQ(run->job.micro_batch_size, 2);
}

}  // namespace
}  // namespace lumos

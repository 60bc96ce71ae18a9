#include "lumos/report/results/validation.h"

#include <gtest/gtest.h>

#include "lumos/base/json_value.h"
#include "lumos/report/results/predict_result.h"
#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

LinkedJob small_job() {
  LinkedJob job;
  job.linked.graph = small_step();
  return job;
}

double error_sum(const std::vector<ValidationLine>& lines) {
  double sum = 0;
  for (const ValidationLine& line : lines) sum += line.error_ms();
  return sum;
}

TEST(Validation, OfAnUnchangedJobErrsByTheReplayAlone) {
  const ExecGraph graph = small_step();
  const std::string text = predict_json(predict_result(graph, graph, {}));
  ASSERT_TRUE(is_prediction(text));
  const Result<Prediction> prediction = read_prediction(text, "p.json");
  ASSERT_TRUE(prediction) << prediction.error().message;
  const Validation result = validate(*prediction, small_job(), 1);
  EXPECT_TRUE(result.has_work);
  EXPECT_GT(result.step.measured_ms, 0);
  for (const auto& lines : {result.families, result.collectives, result.templates}) {
    for (const ValidationLine& line : lines) EXPECT_NEAR(line.error_ms(), 0, 1e-6) << line.name;
  }
  EXPECT_FALSE(result.families.empty());
  EXPECT_EQ(result.utilisation.size(), 1u);
}

TEST(Validation, ComponentsSumToTheErrorOfTheStep) {
  Prediction prediction;
  prediction.step_ms = 10;
  prediction.breakdown = {5, 2, 2.5, 0.5};
  const Validation result = validate(prediction, small_job(), 1);
  EXPECT_NEAR(error_sum(result.components), result.step.error_ms(), 1e-9);
  EXPECT_FALSE(result.has_work);
  EXPECT_NE(validation_text(result, 9).find("only components are compared"), std::string::npos);
}

TEST(Validation, NamesWhatOnlyOneSideHas) {
  Prediction prediction;
  prediction.work = WorkUse{{{"attention", 3, 0}}, {{"alltoall", 1, 0.5}}, {}};
  const Validation result = validate(prediction, small_job(), 1);
  ASSERT_FALSE(result.families.empty());
  EXPECT_EQ(result.families[0].name, "attention");
  EXPECT_EQ(result.families[0].measured_ms, 0);
  EXPECT_EQ(result.collectives[0].predicted_ms, 1.5);
  EXPECT_NE(validation_text(result, 9).find("farthest off: kernel family attention, +3.000 ms"), std::string::npos)
      << validation_text(result, 9);
  EXPECT_TRUE(parse_json(validation_json(result), "validation"));
}

TEST(PredictionFile, SaysWhatIsMissingOrOfAnotherKind) {
  const auto failure = [](const std::string& text) { return read_prediction(text, "p.json").error().message; };
  EXPECT_EQ(failure(R"({"schema": "lumos.predict.v1"})"), "p.json: predicted.step_ms: missing; give a number");
  EXPECT_NE(failure(R"({"schema": "lumos.gains.v1"})").find("is not what"), std::string::npos);
  EXPECT_NE(failure(R"({"schema": "lumos.estimate.v1", "estimates": []})").find("several jobs"), std::string::npos);
  EXPECT_FALSE(is_prediction("{}"));
}

TEST(PredictionFile, ReadsAnEstimateWithoutItsKernels) {
  const Result<Prediction> prediction = read_prediction(
      R"({"schema": "lumos.estimate.v1", "estimate": {"step_ms": 4, "breakdown": {"exposed_compute_ms": 1,
          "overlapped_ms": 1, "exposed_comm_ms": 1, "other_ms": 1}}})",
      "e.json");
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(prediction->step_ms, 4);
  EXPECT_FALSE(prediction->work);
}

TEST(Validation, APredictedRankStandsForThoseOfItsStage) {
  std::vector<RankCurve> curves(2);
  curves[0].rank = 0;
  curves[1].rank = 8;
  EXPECT_EQ(curve_for(curves, 8, 8, 16), 1u);
  EXPECT_EQ(curve_for(curves, 3, 3, 16), 0u);
  EXPECT_EQ(curve_for(curves, 12, 12, 16), 1u);
}

TEST(MeanCurves, CountsWhatHasEndedAsIdle) {
  RankCurve shorter, longer;
  shorter.curve.interval_ns = longer.curve.interval_ns = 10;
  shorter.curve.busy = {1};
  longer.curve.busy = {1, 0.5};
  shorter.length_ns = 10;
  longer.length_ns = 20;
  const std::vector<RankCurve> mean = mean_curves({{shorter}, {longer}});
  ASSERT_EQ(mean.size(), 1u);
  EXPECT_EQ(mean[0].length_ns, 15);
  EXPECT_EQ(mean[0].curve.busy, (std::vector<double>{1, 0.25}));
}

}  // namespace
}  // namespace lumos

#include "lumos/report/results/prediction_file.h"

#include <cmath>
#include <utility>

#include "lumos/base/json_value.h"
#include "lumos/model/job/job_file.h"

namespace lumos {

namespace {

constexpr std::string_view kPredictSchemaName = "lumos.predict.v";
constexpr std::string_view kEstimateSchemaName = "lumos.estimate.v";

Result<BreakdownMs> read_breakdown(const ValueView& view) {
  BreakdownMs breakdown;
  breakdown.exposed_compute = TRY(view.at("exposed_compute_ms").as_double());
  breakdown.overlapped = TRY(view.at("overlapped_ms").as_double());
  breakdown.exposed_comm = TRY(view.at("exposed_comm_ms").as_double());
  breakdown.other = TRY(view.at("other_ms").as_double());
  return breakdown;
}

Result<std::vector<WorkShare>> read_shares(const ValueView& view) {
  std::vector<WorkShare> shares;
  for (const ValueView& item : TRY(view.items())) {
    WorkShare share;
    share.name = TRY(item.at("name").as_string());
    share.ms = TRY(item.at("ms").as_double());
    share.wait_ms = TRY(item.at("wait_ms").as_double());
    shares.push_back(std::move(share));
  }
  return shares;
}

Result<std::vector<RankCurve>> read_curves(const ValueView& view) {
  std::vector<RankCurve> curves;
  for (const ValueView& item : TRY(view.items())) {
    RankCurve curve;
    curve.rank = static_cast<int32_t>(TRY(item.at("rank").as_int()));
    curve.length_ns = std::llround(1e6 * TRY(item.at("step_ms").as_double()));
    curve.curve.interval_ns = std::llround(1e6 * TRY(item.at("interval_ms").as_double()));
    if (curve.curve.interval_ns <= 0) return item.at("interval_ms").error("must be more than 0");
    for (const ValueView& share : TRY(item.at("busy_pct").items())) {
      curve.curve.busy.push_back(TRY(share.as_double()) / 100);
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

Result<Prediction> read_predicted(const ValueView& root) {
  const ValueView predicted = root.at("predicted");
  Prediction prediction;
  prediction.step_ms = TRY(predicted.at("step_ms").as_double());
  prediction.breakdown = TRY(read_breakdown(predicted.at("breakdown")));
  if (predicted.at("p10_ms").exists()) prediction.p10_ms = TRY(predicted.at("p10_ms").as_double());
  if (predicted.at("p90_ms").exists()) prediction.p90_ms = TRY(predicted.at("p90_ms").as_double());
  if (const ValueView work = predicted.at("work"); work.exists()) {
    WorkUse use;
    use.families = TRY(read_shares(work.at("families")));
    use.collectives = TRY(read_shares(work.at("collectives")));
    use.templates = TRY(read_shares(work.at("templates")));
    prediction.work = std::move(use);
  }
  if (predicted.at("utilisation").exists()) prediction.curves = TRY(read_curves(predicted.at("utilisation")));
  return prediction;
}

Result<Prediction> read_estimate(const ValueView& root) {
  const ValueView estimate = root.at("estimate");
  if (!estimate.exists()) return root.error("holds estimates of several jobs; validate takes one: estimate --job");
  Prediction prediction;
  prediction.step_ms = TRY(estimate.at("step_ms").as_double());
  prediction.breakdown = TRY(read_breakdown(estimate.at("breakdown")));
  return prediction;
}

/// The parts of a step are all of it. What other tools have edited or rounded may be off by this share.
constexpr double kRounding = 1e-3;

Status check_sums(const Prediction& prediction, const ValueView& predicted) {
  if (!(prediction.step_ms > 0)) return predicted.at("step_ms").error("must be more than 0");
  const BreakdownMs& parts = prediction.breakdown;
  for (const auto& [name, ms] : {std::pair{"exposed_compute_ms", parts.exposed_compute},
                                 {"overlapped_ms", parts.overlapped},
                                 {"exposed_comm_ms", parts.exposed_comm},
                                 {"other_ms", parts.other}}) {
    if (ms < -kRounding * prediction.step_ms) return predicted.at("breakdown").at(name).error("must be 0 or more");
  }
  const double sum_ms = parts.exposed_compute + parts.overlapped + parts.exposed_comm + parts.other;
  if (std::abs(sum_ms - prediction.step_ms) <= kRounding * prediction.step_ms) return {};
  return predicted.at("breakdown")
      .error(fmt::format("its parts sum to {:.3f} ms, but step_ms is {:.3f}", sum_ms, prediction.step_ms));
}

Result<Prediction> parse_prediction(const std::string& text, const std::string& file) {
  const Value tree = TRY(parse_json(text, file));
  const ValueView root(tree, file);
  const std::string schema = TRY(root.at("schema").string_or(""));
  const bool estimated = schema.starts_with(kEstimateSchemaName);
  if (!estimated && !schema.starts_with(kPredictSchemaName)) {
    return root.error("is not what 'lumos predict --json' or 'lumos estimate --json' prints");
  }
  Prediction prediction = TRY(estimated ? read_estimate(root) : read_predicted(root));
  TRY_STATUS(check_sums(prediction, root.at(estimated ? "estimate" : "predicted")));
  prediction.file = file;
  if (root.at("job").exists()) prediction.job = TRY(job_from_value(root.at("job"))).job;
  return prediction;
}

}  // namespace

bool is_prediction(std::string_view text) {
  return text.find(kPredictSchemaName) != std::string_view::npos ||
         text.find(kEstimateSchemaName) != std::string_view::npos;
}

Result<Prediction> read_prediction(const std::string& text, const std::string& file) {
  Result<Prediction> prediction = parse_prediction(text, file);
  if (!prediction) return fail(ErrorKind::kUnreadable, "{}", prediction.error().message);
  return prediction;
}

}  // namespace lumos

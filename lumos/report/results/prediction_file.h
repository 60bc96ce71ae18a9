// What `lumos predict --json` or `lumos estimate --json` printed, read again: to be held against the trace that was
// taken later. Read by validate and the HTML report.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/model/job/job.h"
#include "lumos/report/figures/rank_curve.h"
#include "lumos/report/figures/work_use.h"
#include "lumos/report/results/replay_result.h"

namespace lumos {

struct Prediction {
  std::string file;
  double step_ms = 0;
  BreakdownMs breakdown;
  std::optional<double> p10_ms;  ///< of a prediction with a spread
  std::optional<double> p90_ms;
  std::optional<WorkUse> work;  ///< absent of an estimate, which knows no kernels
  std::vector<RankCurve> curves;
  std::optional<Job> job;  ///< the predicted one, where a job was predicted
};

/// True if `text` says that it is one.
bool is_prediction(std::string_view text);

/// Errors: kUnreadable naming `file` and the key; also where the parts of the step are not the step.
Result<Prediction> read_prediction(const std::string& text, const std::string& file);

}  // namespace lumos

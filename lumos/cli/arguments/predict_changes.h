// The part of `lumos predict` that changes the graph of a job: makes parts of it faster or slower, or takes them out.
// Read by the command and by python/.
#pragma once

#include <cstdint>
#include <string>

#include "lumos/graph/job/job.h"
#include "lumos/report/results/predict_result.h"
#include "lumos/whatif/edit/change.h"

namespace lumos {

/// --jitter, --samples and --seed.
struct JitterArguments {
  double sigma = 0;
  int64_t samples = 100;
  int64_t seed = 1;
  int64_t threads = 0;
  bool fitted = false;  ///< the spread of the trace instead of sigma
};

/// Takes what --jitter says: "fitted", or a standard deviation. Errors: kUsage.
Status set_jitter(JitterArguments& arguments, const std::string& text);

/// Errors: kUsage for numbers out of range.
Result<PredictOptions> predict_options(const JitterArguments& arguments);

/// Errors: kUsage when nothing changes and nothing varies, which is no question.
Status check_something_changes(const ChangeList& changes, const PredictOptions& options);

/// Simulates the job with and without the changes. Errors as of apply_changes.
Result<PredictResult> predict_changes(const LinkedJob& job, const ChangeList& changes, const PredictOptions& options);

}  // namespace lumos

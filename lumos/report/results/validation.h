// A prediction held against the trace that was taken later: how far off it was, and which part of the model is to
// blame. Made from what `lumos predict` printed and a measured job; rendered as text and as lumos.validate.v1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lumos/graph/job/job.h"
#include "lumos/report/results/prediction_file.h"

namespace lumos {

/// Predicted beside measured, in milliseconds per step.
struct ValidationLine {
  std::string name;
  double predicted_ms = 0;
  double measured_ms = 0;
  double predicted_wait_ms = 0;  ///< part of predicted_ms: communication kernels that wait for other ranks
  double measured_wait_ms = 0;

  double error_ms() const { return predicted_ms - measured_ms; }
};

/// How far a predicted curve of utilisation is from the measured one.
struct CurveError {
  int32_t rank = 0;
  int32_t predicted_rank = 0;  ///< the one that stands for it
  double predicted = 0;        ///< mean over the step, 0 to 1
  double measured = 0;
};

struct Validation {
  std::string prediction_file;
  ValidationLine step;
  std::optional<double> p10_ms;
  std::optional<double> p90_ms;
  std::vector<ValidationLine> components;   ///< in the order of the breakdown; they sum to the step
  std::vector<ValidationLine> templates;    ///< all GPU work; largest error first, as the next two
  std::vector<ValidationLine> families;     ///< compute
  std::vector<ValidationLine> collectives;  ///< waiting included
  std::vector<CurveError> utilisation;
  bool waits_apart = false;  ///< the prediction tells waiting from transfers; that of a job holds both together
  bool has_work = false;     ///< the prediction told its work: templates, families and collectives are compared
  std::vector<std::string> warnings;
};

/// Both sides of every name that one of them has; the largest difference first.
std::vector<ValidationLine> compare_shares(const std::vector<WorkShare>& predicted,
                                           const std::vector<WorkShare>& measured);

/// Holds `prediction` against the measured steps of `job`.
Validation validate(const Prediction& prediction, const LinkedJob& job, int threads);

/// At most 80 columns; at most `limit` lines of each table, the rest summed in one.
std::string validation_text(const Validation& validation, size_t limit);
/// One object, schema lumos.validate.v1.
std::string validation_json(const Validation& validation);

}  // namespace lumos

// Estimates as text for people and as JSON for programs, one job or a table of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lumos/plan/estimate.h"

namespace lumos {

/// One row of `estimate --jobs`. Either `failure` says why there is no estimate, or there is one.
struct EstimateRow {
  uint32_t line = 0;  ///< of the table
  Job job;
  std::string failure;
  Estimate estimate;
  std::optional<double> measured_step_ms;
  std::optional<double> measured_peak_gib;
};

/// The step and its parts, throughput, and memory by stage.
std::string estimate_text(const Job& job, const Cluster& cluster, const Estimate& estimate);

/// One object, schema lumos.estimate.v1.
std::string estimate_json(const Job& job, const Estimate& estimate);

/// A line per job, with the measured step and the error beside it where the table has them.
std::string estimates_text(const std::vector<EstimateRow>& rows);

/// One object of the same schema, with an array of estimates.
std::string estimates_json(const std::vector<EstimateRow>& rows);

/// The members of that array, one line each: what a part of many estimates writes.
std::string estimate_lines(const std::vector<EstimateRow>& rows);

/// That object again from the lines of all parts, in any order. Errors (kUnreadable) name the file.
Result<std::string> join_estimates(const std::vector<std::string>& paths);

}  // namespace lumos

// Tables of jobs, one per row, with or without what was measured: the rows of `estimate --jobs` and `calibrate --runs`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lumos/base/csv.h"
#include "lumos/model/job.h"

namespace lumos {

/// One row: columns that are job fields change the common job; `num_gpus` is read as world_size.
struct MeasuredRun {
  Job job;
  uint32_t line = 0;  ///< of the file, for messages
  std::optional<double> step_ms;
  std::optional<double> peak_allocated_gib;
};

/// A row of `table` on top of `common`. Together they are a whole description: sizes that neither gives follow from those
/// that are given. Errors name the line.
Result<MeasuredRun> measured_run(const CsvTable& table, size_t row, const std::vector<JobSetting>& common);

/// All rows, or the first error.
Result<std::vector<MeasuredRun>> measured_runs(const CsvTable& table, const std::vector<JobSetting>& common);

/// Columns of `table` that are neither job fields nor measurements.
std::vector<std::string> unread_columns(const CsvTable& table);

/// One measured collective: columns size_bytes, num_gpus, time_us and optionally collective (default all_reduce).
struct MeasuredCollective {
  int64_t num_gpus = 0;
  double size_bytes = 0;
  double time_us = 0;
};

/// Errors name the line or the column that is missing.
Result<std::vector<MeasuredCollective>> measured_collectives(const CsvTable& table);

}  // namespace lumos

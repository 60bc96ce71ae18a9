// Tables of jobs, one per row, with or without what was measured: the rows of `estimate --jobs` and `calibrate --runs`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lumos/base/csv.h"
#include "lumos/model/job/job.h"

namespace lumos {

/// One row: columns that are job fields change the common job; `num_gpus` is read as world_size.
struct MeasuredRun {
  Job job;
  uint32_t line = 0;  ///< of the file, for messages
  std::optional<double> step_ms;
  std::optional<double> peak_allocated_gib;
};

/// What the rows of a table share: a whole job that each row changes, or settings that only a row makes a job of.
struct CommonJob {
  std::optional<Job> whole;
  std::vector<JobSetting> settings;  ///< when there is no whole job
};

/// The settings of a file, or of none, with those of the command line on top.
Result<CommonJob> common_job(const std::vector<JobSetting>& file, const std::vector<JobSetting>& overrides);

/// One row of `table`. Sizes that neither the row nor the common job gives follow from those that are given. Errors
/// name the line.
Result<MeasuredRun> measured_run(const CsvTable& table, size_t row, const CommonJob& common);

/// All rows, or the first error.
Result<std::vector<MeasuredRun>> measured_runs(const CsvTable& table, const CommonJob& common);

/// A table of runs or jobs: each of `required` is a column, at least one is a setting of a job, and no two the same.
/// Errors: kUsage with the header's line.
Status check_columns(const CsvTable& table, const std::vector<std::string>& required);

/// Columns of `table` that are neither job fields nor measurements.
std::vector<std::string> unread_columns(const CsvTable& table);

/// One measured all-reduce inside a node: columns num_gpus, size_bytes and time_us.
struct MeasuredCollective {
  int64_t num_gpus = 0;
  double size_bytes = 0;
  double time_us = 0;
};

/// Errors name the line or the column that is missing.
Result<std::vector<MeasuredCollective>> measured_collectives(const CsvTable& table);

}  // namespace lumos

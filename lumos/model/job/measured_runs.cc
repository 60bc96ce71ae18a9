#include "lumos/model/job/measured_runs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "lumos/model/job/job_fields.h"

namespace lumos {
namespace {

/// The job field that a column is called after, or "".
std::string_view field_of_column(std::string_view column) {
  if (column == "num_gpus") return "world_size";
  return find_job_field(column) != nullptr ? column : std::string_view();
}

bool is_measurement(std::string_view column) { return column == "step_ms" || column == "peak_allocated_gib"; }

Result<double> cell_number(const CsvTable& table, size_t row, int column) {
  const std::string& text = table.rows[row][static_cast<size_t>(column)];
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) {
    return fail(ErrorKind::kUsage, "{}:{}: {} '{}' is not a number", table.source, table.lines[row],
                table.columns[static_cast<size_t>(column)], text);
  }
  // What is measured, and how much of it, is more than nothing; nan and inf are numbers to from_chars.
  if (!(value > 0) || !std::isfinite(value)) {
    return fail(ErrorKind::kUsage, "{}:{}: {} is {}; it must be above 0", table.source, table.lines[row],
                table.columns[static_cast<size_t>(column)], text);
  }
  return value;
}

/// A count of GPUs that have something to say to each other.
Result<int64_t> cell_gpus(const CsvTable& table, size_t row, int column) {
  const double value = TRY(cell_number(table, row, column));
  if (value >= 2 && value == std::floor(value) && value < 1e9) return static_cast<int64_t>(value);
  return fail(ErrorKind::kUsage, "{}:{}: {} is {}; it must be a whole number from 2 on", table.source, table.lines[row],
              table.columns[static_cast<size_t>(column)], table.rows[row][static_cast<size_t>(column)]);
}

Result<std::optional<double>> measurement(const CsvTable& table, size_t row, std::string_view name) {
  const int column = table.find_column(name);
  if (column < 0 || table.rows[row][static_cast<size_t>(column)].empty()) return std::optional<double>();
  return std::optional<double>(TRY(cell_number(table, row, column)));
}

std::vector<JobSetting> row_settings(const CsvTable& table, size_t row) {
  std::vector<JobSetting> settings;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const std::string_view field = field_of_column(table.columns[i]);
    if (!field.empty()) settings.emplace_back(field, table.rows[row][i]);
  }
  return settings;
}

/// `cells` with what they do not name taken from `common`; what they name is left out there, so that it cannot
/// contradict.
std::vector<JobSetting> below(const std::vector<JobSetting>& common, const std::vector<JobSetting>& cells) {
  std::vector<JobSetting> settings;
  for (const JobSetting& setting : common) {
    const bool named =
        std::any_of(cells.begin(), cells.end(), [&](const JobSetting& c) { return c.first == setting.first; });
    if (!named) settings.push_back(setting);
  }
  settings.insert(settings.end(), cells.begin(), cells.end());
  return settings;
}

}  // namespace

Result<CommonJob> common_job(const std::vector<JobSetting>& file, const std::vector<JobSetting>& overrides) {
  std::vector<std::string> unknown;
  CommonJob common;
  if (const Result<Job> whole = resolve_job(file, &unknown)) {
    common.whole = TRY(change_job(*whole, overrides));
  } else {
    common.settings = file;
    common.settings.insert(common.settings.end(), overrides.begin(), overrides.end());
  }
  return common;
}

Result<MeasuredRun> measured_run(const CsvTable& table, size_t row, const CommonJob& common) {
  const std::vector<JobSetting> cells = row_settings(table, row);
  const Result<Job> job = common.whole ? change_job(*common.whole, cells) : resolve_job(below(common.settings, cells));
  if (!job) return fail(ErrorKind::kUsage, "{}:{}: {}", table.source, table.lines[row], job.error().message);
  MeasuredRun run;
  run.job = *job;
  run.line = table.lines[row];
  run.step_ms = TRY(measurement(table, row, "step_ms"));
  run.peak_allocated_gib = TRY(measurement(table, row, "peak_allocated_gib"));
  return run;
}

Result<std::vector<MeasuredRun>> measured_runs(const CsvTable& table, const CommonJob& common) {
  std::vector<MeasuredRun> runs;
  for (size_t row = 0; row < table.rows.size(); ++row) runs.push_back(TRY(measured_run(table, row, common)));
  return runs;
}

Status check_columns(const CsvTable& table, const std::vector<std::string>& required) {
  const auto at = fmt::format("{}:{}", table.source, table.header_line);
  for (const std::string& name : required) {
    if (table.find_column(name) < 0) return fail(ErrorKind::kUsage, "{}: no column {}", at, name);
  }
  std::map<std::string_view, std::string_view> column_of_field;
  for (const std::string& column : table.columns) {
    const std::string_view field = field_of_column(column);
    if (field.empty()) continue;
    const auto [other, is_new] = column_of_field.try_emplace(field, column);
    if (!is_new) return fail(ErrorKind::kUsage, "{}: columns {} and {} say the same", at, other->second, column);
  }
  if (!column_of_field.empty()) return {};
  return fail(
      ErrorKind::kUsage,
      "{}: no column is a setting of a job; there are num_gpus, tensor_model_parallel_size, micro_batch_size and "
      "the other names of job files",
      at);
}

std::vector<std::string> unread_columns(const CsvTable& table) {
  std::vector<std::string> names;
  for (const std::string& column : table.columns) {
    if (field_of_column(column).empty() && !is_measurement(column)) names.push_back(column);
  }
  return names;
}

Result<std::vector<MeasuredCollective>> measured_collectives(const CsvTable& table) {
  const int gpus = table.find_column("num_gpus"), size = table.find_column("size_bytes"),
            time = table.find_column("time_us");
  for (const auto& [name, column] : {std::pair{"num_gpus", gpus}, {"size_bytes", size}, {"time_us", time}}) {
    if (column < 0) return fail(ErrorKind::kUsage, "{}:{}: no column {}", table.source, table.header_line, name);
  }
  std::vector<MeasuredCollective> collectives;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    collectives.push_back(
        {TRY(cell_gpus(table, row, gpus)), TRY(cell_number(table, row, size)), TRY(cell_number(table, row, time))});
  }
  return collectives;
}

}  // namespace lumos

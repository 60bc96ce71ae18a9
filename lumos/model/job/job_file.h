// Job files: TOML or JSON with Megatron's argument names, null for unset. Read by every command that takes --job;
// written by those that hand a job on.
#pragma once

#include <string>
#include <vector>

#include "lumos/base/json_writer.h"
#include "lumos/base/value.h"
#include "lumos/model/job/job.h"

namespace lumos {

/// A job and what the user should know about how it was read.
struct JobFile {
  Job job;
  std::vector<std::string> warnings;  ///< one sentence each: keys that Lumos does not read
};

/// A value as a setting has it; "null" for null, which unsets. Anything but a scalar is an error that names the place.
Result<std::string> setting_text(const ValueView& view);

/// The settings of an object of scalars; an error names the key that holds something else.
Result<std::vector<JobSetting>> settings_from_value(const ValueView& object);

/// Settings of `file`, then of `overrides` on top, resolved together. Unknown keys of the file become a warning. What
/// the file leaves unset comes from `fallbacks`, each of which that makes a difference becomes a warning, too.
Result<JobFile> job_from_value(const ValueView& file, const std::vector<JobSetting>& overrides = {},
                               const std::vector<JobSetting>& fallbacks = {});
Result<JobFile> read_job_file(const std::string& path, const std::vector<JobSetting>& overrides = {},
                              const std::vector<JobSetting>& fallbacks = {});

/// One sentence for each size of the model that the job gives, that would follow from others had it not been given, and
/// that stays as it was though `settings` changed those.
std::vector<std::string> kept_sizes(const Job& before, const Job& after, const std::vector<JobSetting>& settings);

/// The job as TOML text that reads back as the same job.
std::string job_to_toml(const Job& job);

/// Writes the job as one JSON object of all its fields; what is unset is null.
void write_job(JsonWriter& json, const Job& job);

}  // namespace lumos

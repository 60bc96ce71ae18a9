// Arguments of Megatron-LM that say what a job's fields say under other names, say nothing about its time, or ask for
// what Lumos does not model: what a launch script, or Megatron's own dump of its arguments, has in it. Read by
// model/job/job_file and by the commands that take --set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/model/job/job.h"

namespace lumos {

/// What becomes of a name that is no field of a job.
enum class ArgumentUse : uint8_t {
  kUnknown,
  kWithoutEffect,  ///< on the time of a step: learning rates, data, checkpoints on disk
  kLeftOut,        ///< changes the time by something that is not modelled
};

ArgumentUse argument_use(std::string_view name);

/// "--num-layers" as "num_layers".
std::string argument_name(std::string_view as_written);

/// The settings under the names of a job's fields, as far as they are known; what is left has no field. Errors
/// (kUsage) name what is not modelled, with the reason, and two names that contradict each other.
Result<std::vector<JobSetting>> settings_from_arguments(const std::vector<JobSetting>& arguments);

/// Names that settings_from_arguments reads besides the fields', for suggestions.
std::vector<std::string_view> translated_argument_names();

}  // namespace lumos

// The options --job, --cluster and --set, as every command that takes a job and a cluster has them.
#pragma once

#include <string>
#include <vector>

#include "lumos/cli/arguments/command.h"
#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/measured_runs.h"

namespace lumos {

struct JobArguments {
  std::string job;
  std::string cluster;
  std::vector<std::string> settings;  ///< "name=value"
};

/// Settings of --set by what they change.
struct SplitSettings {
  std::vector<JobSetting> job;
  std::vector<JobSetting> cluster;
};

/// "name=value" of --set. Errors: kUsage, for several in one word and for a number without a value, too.
Result<JobSetting> parse_setting(const std::string& text);

/// All --set of a command under the names of fields, Megatron's arguments translated with each other in view; of one
/// name the last counts. Errors: parse_setting's, settings_from_arguments', and names that are unknown or change
/// nothing.
Result<std::vector<JobSetting>> read_settings(const std::vector<std::string>& settings);

/// "tensor_model_parallel_size=4" goes to the job, "gpu.memory_gib=40" to the cluster. Errors name what is wrong.
Result<SplitSettings> split_settings(const std::vector<std::string>& settings);

/// The cluster of --cluster, with its settings.
Result<Cluster> read_cluster(const JobArguments& arguments, const SplitSettings& settings);

/// The job of --job, with its settings; warnings about it are noted on the console.
Result<Job> read_job(const JobArguments& arguments, const SplitSettings& settings, Console& console);

/// Both, for commands that need nothing else.
struct JobOnCluster {
  Job job;
  Cluster cluster;
};
Result<JobOnCluster> read_job_and_cluster(const JobArguments& arguments, Console& console);

/// What the rows of a table share: the file of --job, if any, below the settings of --set.
Result<CommonJob> read_common_job(const JobArguments& arguments, const SplitSettings& settings);

/// --cluster and --set; the caller adds --job where it has one.
std::vector<Option> cluster_options(JobArguments& arguments);

}  // namespace lumos

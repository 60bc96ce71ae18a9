#include "lumos/cli/arguments/job_arguments.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "lumos/base/suggest.h"
#include "lumos/base/toml.h"
#include "lumos/cli/arguments/config_file.h"
#include "lumos/model/job/job_fields.h"
#include "lumos/model/job/job_file.h"
#include "lumos/model/job/megatron_arguments.h"

namespace lumos {

namespace {

tl::unexpected<Error> unknown_setting(std::string_view name) {
  if (argument_use(argument_name(name)) == ArgumentUse::kWithoutEffect)
    return fail(ErrorKind::kUsage, "--set {}: without effect on the time of a step", name);
  if (argument_use(argument_name(name)) == ArgumentUse::kLeftOut)
    return fail(ErrorKind::kUsage, "--set {}: not modelled", name);
  std::vector<std::string_view> known = job_field_names();
  for (std::string_view argument : translated_argument_names()) known.push_back(argument);
  for (const ClusterField& field : cluster_fields()) known.push_back(field.name);
  const std::string_view near = nearest(name, known);
  return fail(ErrorKind::kUsage, "--set {}: neither a job nor a cluster has it{}", name,
              near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

/// Whether it gives a field that the settings set, or decides what others do.
bool has_effect(const std::vector<JobSetting>& settings, size_t one, const std::vector<JobSetting>& translated) {
  const auto alone = settings_from_arguments({settings[one]});
  if (!alone) return true;
  for (const JobSetting& setting : *alone) {
    const auto same = [&](const JobSetting& other) { return other.first == setting.first; };
    if (std::any_of(translated.begin(), translated.end(), same)) return true;
  }
  std::vector<JobSetting> others = settings;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(one));
  const auto without = settings_from_arguments(others);
  return !without || *without != translated;
}

/// Of a name that is known, and translates to nothing as it is here.
tl::unexpected<Error> idle_setting(const JobSetting& setting) {
  const auto& [name, value] = setting;
  if (argument_use(argument_name(name)) == ArgumentUse::kWithoutEffect) return unknown_setting(name);
  return fail(ErrorKind::kUsage, "--set {}={}: without effect here", name, value);
}

/// A command changes a job that may have groups: the switch does not say how many, unlike in a file, where Megatron's
/// default does.
Status check_groups(const std::vector<JobSetting>& settings) {
  const auto named = [&](std::string_view name) {
    return std::find_if(settings.begin(), settings.end(),
                        [&](const JobSetting& one) { return argument_name(one.first) == name; });
  };
  const auto grouped = named("group_query_attention");
  if (grouped == settings.end() || named("num_query_groups") != settings.end()) return {};
  if (TRY(settings_from_arguments({*grouped})).empty()) return {};
  return fail(ErrorKind::kUsage, "--set {}={}: without effect here; num_query_groups says how many groups there are",
              grouped->first, grouped->second);
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  });
}

/// Where the next setting begins in a value that holds several, as in "2,num_layers=4"; npos where there is one only.
size_t next_setting(std::string_view value) {
  const size_t equals = value.find('=');
  if (equals == std::string_view::npos) return equals;
  const size_t before = value.find_last_of(", ;", equals);
  if (before == std::string_view::npos || !is_name(value.substr(before + 1, equals - before - 1)))
    return std::string_view::npos;
  return before + 1;
}

bool is_number_field(std::string_view name) {
  const JobField* field = find_job_field(name);
  return field != nullptr && (std::holds_alternative<int64_t Job::*>(field->member) ||
                              std::holds_alternative<double Job::*>(field->member));
}

}  // namespace

Result<JobSetting> parse_setting(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return fail(ErrorKind::kUsage, "--set {}: expected name=value", text);
  std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  if (const size_t next = next_setting(value); next != std::string::npos)
    return fail(ErrorKind::kUsage, "--set {}: one setting at a time; repeat it, as in --set {}={} --set {}", text, name,
                value.substr(0, value.find_last_not_of(", ;", next - 1) + 1), value.substr(next));
  if (value.empty() && is_number_field(name))
    return fail(ErrorKind::kUsage, "--set {}: the value is empty; write a number, or null to unset it", text);
  return JobSetting{std::move(name), std::move(value)};
}

Result<std::vector<JobSetting>> read_settings(const std::vector<std::string>& settings) {
  std::vector<JobSetting> given;
  for (const std::string& text : settings) {
    JobSetting setting = TRY(parse_setting(text));
    const std::string name = argument_name(setting.first);
    std::erase_if(given, [&](const JobSetting& one) { return argument_name(one.first) == name; });
    given.push_back(std::move(setting));
  }
  TRY_STATUS(check_groups(given));
  std::vector<JobSetting> translated = TRY(settings_from_arguments(given));
  for (const auto& [name, value] : translated)
    if (!is_job_setting(name) && find_cluster_field(name) == nullptr) return unknown_setting(name);
  for (size_t i = 0; i < given.size(); ++i)
    if (!has_effect(given, i, translated)) return idle_setting(given[i]);
  return translated;
}

Result<SplitSettings> split_settings(const std::vector<std::string>& settings) {
  SplitSettings split;
  for (const JobSetting& setting : TRY(read_settings(settings))) {
    // The size of a node belongs to both: the job's ranks sit on the cluster's nodes.
    if (find_cluster_field(setting.first) != nullptr) split.cluster.push_back(setting);
    if (is_job_setting(setting.first)) split.job.push_back(setting);
  }
  return split;
}

Result<Cluster> read_cluster(const JobArguments& arguments, const SplitSettings& settings) {
  Cluster cluster = TRY(read_cluster_file(TRY(find_config("clusters", arguments.cluster))));
  for (const auto& [name, value] : settings.cluster) TRY_STATUS(set_cluster_field(cluster, name, value));
  return cluster;
}

Result<Job> read_job(const JobArguments& arguments, const SplitSettings& settings, Console& console) {
  JobFile file = TRY(read_job_file(TRY(find_config("jobs", arguments.job)), settings.job));
  for (const std::string& warning : file.warnings) console.note(warning);
  return std::move(file.job);
}

Result<JobOnCluster> read_job_and_cluster(const JobArguments& arguments, Console& console) {
  const SplitSettings settings = TRY(split_settings(arguments.settings));
  Cluster cluster = TRY(read_cluster(arguments, settings));
  Job job = TRY(read_job(arguments, settings, console));
  return JobOnCluster{std::move(job), std::move(cluster)};
}

Result<CommonJob> read_common_job(const JobArguments& arguments, const SplitSettings& settings) {
  std::vector<JobSetting> file;
  if (!arguments.job.empty()) {
    const std::string path = TRY(find_config("jobs", arguments.job));
    const Value value = TRY(read_value_file(path));
    file = TRY(settings_from_value(ValueView(value, path)));
  }
  return common_job(file, settings.job);
}

std::vector<Option> cluster_options(JobArguments& arguments) {
  return {
      {"--cluster",
       "FILE",
       "The machine: a cluster file, or the name of one that comes with Lumos, such as dgx-h100",
       &arguments.cluster,
       true,
       {},
       Completion::kFile},
      {"--set", "NAME=VALUE", "Change one setting of the job or one number of the cluster; may be repeated",
       &arguments.settings},
  };
}

}  // namespace lumos

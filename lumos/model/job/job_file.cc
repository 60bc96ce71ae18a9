#include "lumos/model/job/job_file.h"

#include <algorithm>
#include <array>

#include "lumos/base/suggest.h"
#include "lumos/base/toml.h"
#include "lumos/model/job/job_fields.h"
#include "lumos/model/job/megatron_arguments.h"

namespace lumos {
namespace {

bool is_scalar(const Value& value) {
  const Value::Kind kind = value.kind();
  return kind == Value::Kind::kBool || kind == Value::Kind::kInt || kind == Value::Kind::kDouble ||
         kind == Value::Kind::kString;
}

/// Names that no field was found for, by what they are to Lumos: one sentence each.
std::vector<std::string> unread_warnings(const std::vector<std::string>& unread) {
  std::vector<std::string_view> known = job_field_names();
  for (std::string_view name : translated_argument_names()) known.push_back(name);
  std::array<std::string, 3> lists;
  for (const std::string& name : unread) {
    const ArgumentUse use = argument_use(name);
    std::string& list = lists[static_cast<size_t>(use)];
    list += list.empty() ? name : ", " + name;
    if (use != ArgumentUse::kUnknown) continue;
    const std::string_view near = nearest(name, known);
    if (!near.empty()) list += fmt::format(" (did you mean {}?)", near);
  }
  constexpr std::array<std::string_view, 3> kSaid = {
      "not read from the job file: ", "without effect on the time of a step: ",
      "not modelled, and left out of what is predicted: "};
  std::vector<std::string> warnings;
  for (size_t i = 0; i < lists.size(); ++i)
    if (!lists[i].empty()) warnings.push_back(std::string(kSaid[i]) + lists[i]);
  return warnings;
}

bool names(const std::vector<JobSetting>& settings, std::string_view name) {
  return std::any_of(settings.begin(), settings.end(), [&](const JobSetting& setting) {
    return setting.first == name && !setting.second.empty() && setting.second != "null";
  });
}

/// `settings` and those fallbacks whose value does not follow from what is set.
std::vector<JobSetting> completed(std::vector<JobSetting> settings, const std::vector<JobSetting>& fallbacks) {
  const bool world = names(settings, "world_size"), batch = names(settings, "global_batch_size");
  const bool replicas = names(settings, "data_parallel_size") || names(fallbacks, "data_parallel_size");
  std::vector<JobSetting> more;
  for (const JobSetting& fallback : fallbacks) {
    const bool follows = (world && fallback.first == "data_parallel_size") ||
                         (batch && fallback.first == "num_microbatches") ||
                         (replicas && fallback.first == "world_size");
    if (!follows && !names(settings, fallback.first)) more.push_back(fallback);
  }
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

/// Says which fallbacks made a difference; those that the job would have had anyway are no news.
std::string filled_warning(const std::vector<JobSetting>& settings, const std::vector<JobSetting>& fallbacks,
                           const Job& job) {
  const auto without = resolve_job(settings);
  std::string filled;
  for (const auto& [name, value] : fallbacks) {
    const JobField* field = find_job_field(name);
    if (names(settings, name) || field == nullptr) continue;
    const std::string text = job_field_text(job, *field);
    if (text != value || (without && job_field_text(*without, *field) == text)) continue;
    filled += fmt::format("{}{} {}", filled.empty() ? "" : ", ", name, value);
  }
  return filled.empty() ? "" : "not in the job file and taken from the traces: " + filled;
}

/// Sizes that come from the traces and are the usual ones follow as if nobody had said them.
void follow_usual_sizes(const std::vector<JobSetting>& settings, Job& job) {
  if (!names(settings, "ffn_hidden_size") && job.ffn_hidden_size == usual_ffn_hidden_size(job))
    job.follows.ffn_hidden_size = true;
  if (!names(settings, "kv_channels") && job.kv_channels == usual_kv_channels(job).value_or(0))
    job.follows.kv_channels = true;
}

/// A field's text as TOML and JSON spell it: quoted unless it is a number or a truth value.
bool is_text_field(const JobField& field) {
  return !std::holds_alternative<int64_t Job::*>(field.member) &&
         !std::holds_alternative<double Job::*>(field.member) && !std::holds_alternative<bool Job::*>(field.member) &&
         !std::holds_alternative<FurtherSize>(field.member);
}

}  // namespace

Result<std::string> setting_text(const ValueView& view) {
  if (!view.exists()) return std::string("null");
  const Value& value = *view.value();
  switch (value.kind()) {
    case Value::Kind::kBool:
      return std::string(*value.get<bool>() ? "true" : "false");
    case Value::Kind::kInt:
      return fmt::format("{}", *value.get<int64_t>());
    case Value::Kind::kDouble:
      return fmt::format("{}", *value.get<double>());
    case Value::Kind::kString:
      return *value.get<std::string>();
    default:
      return view.error("a job setting is a number, a text or true and false");
  }
}

namespace {

/// Of a name that is no field's, which may hold anything: lists and tables as JSON has them, but for quotes.
Result<std::string> argument_text(const ValueView& view) {
  if (!view.exists() || is_scalar(*view.value())) return setting_text(view);
  std::string text;
  if (view.value()->is_array()) {
    for (const ValueView& item : TRY(view.items()))
      text += fmt::format("{}{}", text.empty() ? "" : ", ", TRY(argument_text(item)));
    return fmt::format("[{}]", text);
  }
  for (const auto& [key, item] : TRY(view.members()))
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, TRY(argument_text(item)));
  return fmt::format("{{{}}}", text);
}

}  // namespace

Result<std::vector<JobSetting>> settings_from_value(const ValueView& object) {
  std::vector<JobSetting> settings;
  for (const auto& [key, view] : TRY(object.members())) {
    // Only what a job has must be a scalar; files carry notes of other shapes beside it.
    const bool known = find_job_field(argument_name(key)) != nullptr;
    settings.emplace_back(key, known ? TRY(setting_text(view)) : TRY(argument_text(view)));
  }
  auto translated = settings_from_arguments(settings);
  if (!translated) return object.error(translated.error().message);
  return translated;
}

Result<JobFile> job_from_value(const ValueView& file, const std::vector<JobSetting>& overrides,
                               const std::vector<JobSetting>& fallbacks) {
  const std::vector<JobSetting> settings = TRY(settings_from_value(file));
  JobFile result;
  std::vector<std::string> unknown;
  auto job = resolve_job(completed(settings, fallbacks), &unknown);
  if (!job) return file.error(job.error().message);
  const std::string filled = filled_warning(settings, fallbacks, *job);
  follow_usual_sizes(settings, *job);
  result.job = overrides.empty() ? *job : TRY(change_job(*job, overrides));
  result.warnings = unread_warnings(unknown);
  if (!filled.empty()) result.warnings.push_back(filled);
  for (std::string& kept : kept_sizes(*job, result.job, overrides)) result.warnings.push_back(std::move(kept));
  return result;
}

Result<JobFile> read_job_file(const std::string& path, const std::vector<JobSetting>& overrides,
                              const std::vector<JobSetting>& fallbacks) {
  const Value value = TRY(read_value_file(path));
  return job_from_value(ValueView(value, path), overrides, fallbacks);
}

std::vector<std::string> kept_sizes(const Job& before, const Job& after, const std::vector<JobSetting>& settings) {
  std::vector<std::string> kept;
  const auto add = [&](std::string_view name, int64_t value, bool was_usual, int64_t usual, std::string_view from) {
    if (names(settings, name) || !was_usual || value == usual) return;
    kept.push_back(fmt::format("{0} stays {1}, as the job has it, though {2} changed; --set {0}=null lets it follow",
                               name, value, from));
  };
  const int64_t heads_before = usual_kv_channels(before).value_or(0),
                heads_after = usual_kv_channels(after).value_or(0);
  add("ffn_hidden_size", after.ffn_hidden_size, before.ffn_hidden_size == usual_ffn_hidden_size(before),
      usual_ffn_hidden_size(after), before.hidden_size != after.hidden_size ? "hidden_size" : "swiglu");
  add("kv_channels", after.kv_channels, before.kv_channels == heads_before, heads_after,
      before.hidden_size != after.hidden_size ? "hidden_size" : "num_attention_heads");
  return kept;
}

std::string job_to_toml(const Job& job) {
  std::string text;
  for (const JobField& field : job_fields()) {
    const std::string value = job_field_text(job, field);
    if (value.empty()) continue;
    text += fmt::format("{} = {}\n", field.name, is_text_field(field) ? toml_text(value) : value);
  }
  return text;
}

void write_job(JsonWriter& json, const Job& job) {
  json.begin_object();
  for (const JobField& field : job_fields()) {
    json.key(field.name);
    std::visit(
        [&](auto member) {
          using T = std::decay_t<decltype(field_at(job, member))>;
          if constexpr (std::is_enum_v<T>) {
            const std::string text = job_field_text(job, field);
            text.empty() ? json.null() : json.value(text);
          } else {
            json.value(field_at(job, member));
          }
        },
        field.member);
  }
  json.end_object();
}

}  // namespace lumos

#include "lumos/search/results_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "lumos/base/file.h"
#include "lumos/base/json_value.h"
#include "lumos/base/json_writer.h"
#include "lumos/model/job/job_fields.h"

namespace lumos {
namespace {

// How every line of a search begins.
constexpr std::string_view kLineStart = R"({"id":")";

/// The setting as JSON: numbers and switches as such, the rest as text, what is unset as null.
void write_setting(JsonWriter& json, const Job& job, const JobField& field) {
  json.key(field.name);
  if (const auto* whole = std::get_if<int64_t Job::*>(&field.member)) {
    json.value(job.**whole);
  } else if (const auto* real = std::get_if<double Job::*>(&field.member)) {
    json.value(job.**real);
  } else if (const auto* flag = std::get_if<bool Job::*>(&field.member)) {
    json.value(job.**flag);
  } else {
    const std::string text = job_field_text(job, field);
    text.empty() ? json.null() : json.value(text);
  }
}

tl::unexpected<Error> cannot(std::string_view what, const std::string& path) {
  return fail(ErrorKind::kFailed, "{}: cannot {}: {}", path, what, std::strerror(errno));
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

}  // namespace

std::string result_line(const Outcome& outcome, const Job& job, const std::vector<std::string>& names) {
  JsonWriter json;
  json.begin_object().member("id", outcome.id).member("num_gpus", outcome.num_gpus);
  json.key("step_ms").exact(outcome.step_ms).key("tokens_per_s").exact(outcome.tokens_per_s);
  json.key("mfu_pct").exact(outcome.mfu_pct).key("peak_gib").exact(outcome.peak_gib);
  json.key("bubble_ms").exact(outcome.bubble_ms).key("exposed_comm_ms").exact(outcome.exposed_comm_ms);
  json.member("fits", outcome.fits);
  if (outcome.simulated) json.member("simulated", true).key("estimated_ms").exact(outcome.estimated_ms);
  json.key("settings").begin_object();
  for (const std::string& name : names) {
    if (const JobField* field = find_job_field(name)) write_setting(json, job, *field);
  }
  return json.end_object().end_object().text();
}

Result<Outcome> parse_result_line(std::string_view line) {
  const Result<Value> parsed = parse_json(line, "result");
  if (!parsed) return fail(ErrorKind::kUnreadable, "{}", parsed.error().message);
  const ValueView view(*parsed, "result");
  Outcome outcome;
  outcome.id = TRY(view.at("id").as_string());
  outcome.num_gpus = TRY(view.at("num_gpus").as_int());
  outcome.step_ms = TRY(view.at("step_ms").as_double());
  outcome.tokens_per_s = TRY(view.at("tokens_per_s").as_double());
  outcome.mfu_pct = TRY(view.at("mfu_pct").as_double());
  outcome.peak_gib = TRY(view.at("peak_gib").as_double());
  outcome.bubble_ms = TRY(view.at("bubble_ms").as_double());
  outcome.exposed_comm_ms = TRY(view.at("exposed_comm_ms").as_double());
  outcome.fits = TRY(view.at("fits").as_bool());
  if (view.at("simulated").exists()) {
    outcome.simulated = TRY(view.at("simulated").as_bool());
    outcome.estimated_ms = TRY(view.at("estimated_ms").as_double());
  }
  return outcome;
}

Result<ResultLines> read_results(const std::string& path) {
  const std::string content = TRY(read_file(path));
  ResultLines result;
  for (size_t begin = 0, number = 1; begin < content.size(); ++number) {
    const size_t end = content.find('\n', begin);
    const std::string_view text = std::string_view(content).substr(begin, end - begin);
    const bool last = end == std::string::npos || end + 1 == content.size();
    // A file without a whole line is a search's only if what is there begins like one: others are not cut.
    const bool ours = number > 1 || text.substr(0, kLineStart.size()) == kLineStart.substr(0, text.size());
    if (end == std::string::npos && ours) return result.dropped_last = true, result;
    Result<Outcome> outcome = parse_result_line(text);
    if (!outcome && last && ours) return result.dropped_last = true, result;
    if (!outcome) {
      return fail(ErrorKind::kUnreadable, "{}:{}: not a result of a search: {}", path, number, outcome.error().message);
    }
    result.lines.push_back({std::move(*outcome), std::string(text)});
    if (end == std::string::npos) break;
    result.size_bytes = begin = end + 1;
  }
  return result;
}

Result<ResultsFile> ResultsFile::open(const std::string& path, const std::string& final_path) {
  ResultsFile results;
  results.path_ = path;
  results.final_path_ = final_path;
  if (path != final_path && !exists(path) && exists(final_path) && std::rename(final_path.c_str(), path.c_str()) != 0) {
    return cannot("rename", final_path);
  }
  if (exists(path)) {
    ResultLines before = TRY(read_results(path));
    results.dropped_last_ = before.dropped_last;
    if (before.dropped_last && truncate(path.c_str(), static_cast<off_t>(before.size_bytes)) != 0) {
      return cannot("cut off the damaged last line", path);
    }
    for (ResultLines::Line& line : before.lines) results.known_[line.outcome.id] = std::move(line.outcome);
  }
  results.file_.reset(std::fopen(path.c_str(), "ab"));
  if (results.file_ == nullptr) return cannot("write", path);
  return results;
}

Status ResultsFile::append(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const bool written = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
  if (!written || std::fflush(file_.get()) != 0) return cannot("write", path_);
  return {};
}

Status ResultsFile::finish() {
  if (std::fclose(file_.release()) != 0) return cannot("write", path_);
  if (path_ != final_path_ && std::rename(path_.c_str(), final_path_.c_str()) != 0) return cannot("rename", path_);
  return {};
}

Result<std::string> merge_results(const std::vector<std::string>& paths, std::vector<std::string>* dropped) {
  std::map<std::string, std::string> lines;
  for (const std::string& path : paths) {
    ResultLines part = TRY(read_results(path));
    if (part.dropped_last) dropped->push_back(path);
    for (ResultLines::Line& line : part.lines) {
      const auto [place, is_new] = lines.try_emplace(line.outcome.id, line.text);
      if (is_new || place->second == line.text) continue;
      // The settings that are shown may differ between searches, the figures may not.
      if (TRY(parse_result_line(place->second)) != line.outcome) {
        return fail(ErrorKind::kFailed, "{}: configuration {} has another result in another part", path,
                    line.outcome.id);
      }
      place->second = std::min(place->second, line.text);
    }
  }
  std::string text;
  for (const auto& [id, line] : lines) text += line + "\n";
  return text;
}

}  // namespace lumos

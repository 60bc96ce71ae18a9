// The traces of one job: which files they are, whose rank each is. Declared in trace/reader.h.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "lumos/base/parallel.h"
#include "lumos/trace/kineto/reader.h"
#include "lumos/trace/sets/rank_of_file.h"
#include "lumos/trace/sets/split_ranks.h"

namespace lumos {

namespace {

namespace fs = std::filesystem;

/// The traces directly in a folder. Files that do not decode count as traces, so that their failure is told.
Result<std::vector<std::string>> traces_in_folder(const std::string& folder) {
  std::vector<std::string> candidates;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::string path = it->path().string();
    std::error_code ignored;
    // A pipe in a folder has no end unless somebody writes to it.
    // A link to nothing counts, so that it is told.
    const fs::file_type type = it->status(ignored).type();
    const bool readable = type == fs::file_type::regular || type == fs::file_type::not_found;
    if (has_trace_suffix(path) && readable) candidates.push_back(std::move(path));
  }
  if (error) return fail(ErrorKind::kUnreadable, "{}: cannot list the folder: {}", folder, error.message());
  if (candidates.empty()) {
    return fail(ErrorKind::kUnreadable, "{}: no trace in this folder (no *.json, *.json.gz or *.json.zst)", folder);
  }
  std::vector<char> is_trace(candidates.size(), 0);
  parallel_for(candidates.size(), 0, [&](size_t i) { is_trace[i] = looks_like_trace(candidates[i]).value_or(true); });
  std::vector<std::string> traces;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (is_trace[i]) traces.push_back(std::move(candidates[i]));
  }
  if (traces.empty()) {
    return fail(ErrorKind::kUnreadable, "{}: no trace in this folder; its {} JSON files have no traceEvents", folder,
                is_trace.size());
  }
  return traces;
}

/// Names with numbers in the order that people expect: node2 before node10.
bool natural_less(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number_at = [&](std::string_view text, size_t at) {
    size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    while (at + 1 < end && text[at] == '0') ++at;
    return text.substr(at, end - at);
  };
  const auto skip_number = [&](std::string_view text, size_t at) {
    while (at < text.size() && is_digit(text[at])) ++at;
    return at;
  };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = number_at(a, i), y = number_at(b, j);
      if (x != y) return x.size() != y.size() ? x.size() < y.size() : x < y;
      i = skip_number(a, i);
      j = skip_number(b, j);
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;  // "07" and "7"
}

/// Order of files: by the rank in the name, then by name.
bool comes_before(const std::string& a, const std::string& b) {
  constexpr int32_t kLast = std::numeric_limits<int32_t>::max();
  int32_t rank_a = rank_of_file_name(a).value_or(kLast);
  int32_t rank_b = rank_of_file_name(b).value_or(kLast);
  return rank_a != rank_b ? rank_a < rank_b : natural_less(a, b);
}

Status set_ranks(std::vector<EventTable>& tables, const std::string& rank_regex) {
  using Source = TraceInfo::RankSource;
  std::optional<std::regex> pattern;
  if (!rank_regex.empty()) pattern = TRY(compile_rank_regex(rank_regex));
  std::map<int32_t, std::string> file_of_rank;
  size_t found_by_regex = 0;
  for (EventTable& table : tables) {
    TraceInfo& info = table.info;
    if (info.rank < 0 && info.rank_source != Source::kProcess) {
      if (auto rank = rank_of_file_name(info.file)) info.rank = *rank, info.rank_source = Source::kFileName;
    }
    if (pattern && info.rank_source != Source::kProcess) {
      if (auto rank = rank_by_regex(*pattern, info.file))
        info.rank = *rank, info.rank_source = Source::kRegex, ++found_by_regex;
    }
    if (info.rank < 0) continue;
    auto [it, is_new] = file_of_rank.try_emplace(info.rank, info.file);
    if (!is_new) {
      return fail(ErrorKind::kUnreadable,
                  "{} and {} both say rank {}; name one file per rank, or tell the ranks apart with --rank-regex",
                  it->second, info.file, info.rank);
    }
  }
  if (pattern && found_by_regex == 0 && !tables.empty()) {
    return fail(ErrorKind::kUsage, "--rank-regex {}: it finds a rank in none of the paths, such as {}", rank_regex,
                tables.front().info.file);
  }
  int32_t next = file_of_rank.empty() ? 0 : file_of_rank.rbegin()->first + 1;
  for (EventTable& table : tables) {
    if (table.info.rank < 0) table.info.rank = next++;
  }
  return {};
}

}  // namespace

bool has_trace_suffix(std::string_view name) {
  return name.ends_with(".json") || name.ends_with(".json.gz") || name.ends_with(".json.zst");
}

Result<std::vector<std::string>> find_traces(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    std::vector<std::string> found{path};
    std::error_code error;
    if (path != "-") {
      fs::file_status status = fs::status(path, error);
      if (status.type() == fs::file_type::not_found) {
        return fail(ErrorKind::kUnreadable, "{}: no such file or folder", path);
      }
      if (error) return fail(ErrorKind::kUnreadable, "{}: {}", path, error.message());
      if (fs::is_directory(status)) found = TRY(traces_in_folder(path));
    }
    for (std::string& file : found) {
      if (seen.insert(file).second) files.push_back(std::move(file));
    }
  }
  std::stable_sort(files.begin(), files.end(), comes_before);
  return files;
}

Result<EventTable> read_trace(const std::string& path, const ReadOptions& options) {
  std::vector<EventTable> tables;
  tables.push_back(TRY(read_trace_file(path, options)));
  bool knows_rank = tables[0].info.rank >= 0;
  TRY_STATUS(set_ranks(tables, options.rank_regex));
  // Alone a trace without a rank stays so; only in a set it is given a number.
  if (!knows_rank && tables[0].info.rank_source == TraceInfo::RankSource::kUnknown) tables[0].info.rank = -1;
  return std::move(tables[0]);
}

Result<TraceSet> read_traces(const std::vector<std::string>& paths, const ReadOptions& options) {
  if (!options.rank_regex.empty()) TRY(compile_rank_regex(options.rank_regex));
  std::vector<std::string> files = TRY(find_traces(paths));
  // Whole files side by side first; what workers are left over share in each file.
  int threads = options.threads > 0 ? options.threads : default_threads();
  int files_at_once = std::min(threads, static_cast<int>(std::min<size_t>(files.size(), 1 << 16)));
  ReadOptions per_file = options;
  per_file.threads = std::max(1, threads / std::max(1, files_at_once));
  std::vector<Result<std::vector<EventTable>>> results(files.size(), fail(ErrorKind::kFailed, "not read"));
  parallel_for(
      files.size(), files_at_once, [&](size_t i) { results[i] = read_trace_file(files[i], per_file).map(split_ranks); },
      options.stop);
  if (options.stop.stop_requested()) return fail_interrupted();
  TraceSet set;
  for (size_t i = 0; i < files.size(); ++i) {
    if (results[i]) {
      for (EventTable& table : *results[i]) set.tables.push_back(std::move(table));
    } else {
      set.failures.push_back({files[i], std::move(results[i]).error()});
    }
  }
  // A rank that is missing is more than what would be skipped within one.
  if (options.strict && !set.failures.empty()) return tl::unexpected<Error>(set.failures.front().error);
  if (set.tables.empty()) {
    if (set.failures.empty()) return fail(ErrorKind::kUsage, "no trace given; name files or a folder of them");
    const Error& first = set.failures.front().error;
    if (set.failures.size() == 1) return tl::unexpected<Error>(first);
    return fail(first.kind, "none of {} files could be read; the first: {}", set.failures.size(), first.message);
  }
  TRY_STATUS(set_ranks(set.tables, options.rank_regex));
  std::stable_sort(set.tables.begin(), set.tables.end(),
                   [](const EventTable& a, const EventTable& b) { return a.info.rank < b.info.rank; });
  return set;
}

}  // namespace lumos

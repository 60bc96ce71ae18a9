#include "lumos/report/files/trace_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lumos/report/figures/steps.h"
#include "lumos/report/files/overlay.h"
#include "lumos/sim/replayed_table.h"
#include "lumos/trace/table/table_rows.h"
#include "lumos/trace/write/chrome_writer.h"
#include "lumos/trace/write/perfetto_writer.h"

namespace lumos {

namespace {

/// From the first chosen step to the end of the last one.
Window chosen_window(const RankTasks& rank, const Timeline& timeline) {
  Window whole{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (uint32_t step : chosen_steps(rank)) {
    const Window window = simulated_window(timeline, rank.steps[step]);
    whole.start_ns = std::min(whole.start_ns, window.start_ns);
    whole.end_ns = std::max(whole.end_ns, window.end_ns);
  }
  if (whole.start_ns <= whole.end_ns) return whole;
  whole = {0, 0};
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    whole.end_ns = std::max(whole.end_ns, timeline.end_ns[task] + 1);  // What ends last is inside.
  }
  return whole;
}

Window span_of(const EventTable& table) {
  if (table.size() == 0) return {};
  Window span{table.ts_ns[0], table.end_ns(0)};
  for (size_t row = 1; row < table.size(); ++row) {
    span.start_ns = std::min(span.start_ns, table.ts_ns[row]);
    span.end_ns = std::max(span.end_ns, table.end_ns(row));
  }
  return span;
}

/// Where the name of a rank goes in the name that was asked for: "out.json.gz" -> before ".json.gz".
size_t place_of_rank(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  size_t dot = path.find(".json", name);
  if (dot == std::string::npos) dot = path.find('.', name + 1);
  return dot == std::string::npos ? path.size() : dot;
}

constexpr std::string_view kRankMark = "-rank";

/// "out.json.gz" for rank 3 of several -> "out-rank3.json.gz".
std::string file_of_rank(const std::string& path, int32_t rank) {
  const size_t at = place_of_rank(path);
  return fmt::format("{}{}{}{}", path.substr(0, at), kRankMark, rank, path.substr(at));
}

}  // namespace

Status check_trace_name(std::string_view option, std::string_view path) {
  for (const std::string_view format : {".json", ".json.gz", ".pftrace", ".pftrace.gz"}) {
    if (path.ends_with(format)) return {};
  }
  if (path == "-" || path.starts_with("/dev/")) return {};
  return fail(ErrorKind::kUsage, "{} {}: the name must end with .json, .json.gz, .pftrace or .pftrace.gz", option,
              path);
}

RankTrace measured_rank_trace(EventTable table) {
  RankTrace trace;
  trace.rank = table.info.rank;
  trace.counters = counter_curves(table, span_of(table));
  trace.table = std::move(table);
  return trace;
}

RankTrace replayed_rank_trace(const ExecGraph& graph, const Timeline& timeline, uint32_t rank_index) {
  const Window window = chosen_window(graph.ranks[rank_index], timeline);
  RankTrace trace;
  trace.rank = graph.ranks[rank_index].rank;
  trace.table = rows_within(replayed_table(graph, timeline, rank_index), window.start_ns, window.end_ns);
  trace.counters = counter_curves(trace.table, window);
  return trace;
}

Result<std::vector<std::string>> write_trace_files(size_t count, const std::function<RankTrace(size_t)>& make,
                                                   const std::string& path) {
  std::vector<std::string> files;
  if (path.ends_with(".pftrace") || path.ends_with(".pftrace.gz")) {
    std::vector<RankTrace> traces;
    for (size_t i = 0; i < count; ++i) traces.push_back(make(i));
    std::vector<PerfettoRank> ranks;
    for (RankTrace& trace : traces) {
      ranks.push_back({&trace.table, fmt::format("rank {}", trace.rank), std::move(trace.counters)});
    }
    TRY_STATUS(write_perfetto_trace(ranks, path));
    files.push_back(path);
    return files;
  }
  for (size_t i = 0; i < count; ++i) {
    RankTrace trace = make(i);
    ChromeOptions options;
    options.counters = std::move(trace.counters);
    files.push_back(count > 1 && path != "-" ? file_of_rank(path, trace.rank) : path);
    TRY_STATUS(write_chrome_trace(trace.table, files.back(), options));
  }
  return files;
}

bool is_file_of_rank(const std::string& file, const std::string& path) {
  const size_t at = place_of_rank(path);
  const std::string before = path.substr(0, at) + std::string(kRankMark), behind = path.substr(at);
  if (file.size() <= before.size() + behind.size() || !file.starts_with(before) || !file.ends_with(behind))
    return false;
  return file.substr(before.size(), file.size() - before.size() - behind.size()).find_first_not_of("0123456789") ==
         std::string::npos;
}

Result<std::vector<std::string>> write_replayed_trace(const ExecGraph& graph, const Timeline& timeline,
                                                      const std::string& path) {
  return write_trace_files(
      graph.ranks.size(), [&](size_t r) { return replayed_rank_trace(graph, timeline, static_cast<uint32_t>(r)); },
      path);
}

}  // namespace lumos

#include "lumos/report/replayed_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lumos/report/overlay.h"
#include "lumos/report/steps.h"
#include "lumos/sim/replayed_table.h"
#include "lumos/trace/chrome_writer.h"
#include "lumos/trace/perfetto_writer.h"
#include "lumos/trace/table_rows.h"

namespace lumos {

namespace {

struct RankTrace {
  EventTable table;
  std::vector<CounterCurve> counters;
};

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

RankTrace rank_trace(const ExecGraph& graph, const Timeline& timeline, uint32_t rank_index) {
  const Window window = chosen_window(graph.ranks[rank_index], timeline);
  RankTrace trace;
  trace.table = rows_within(replayed_table(graph, timeline, rank_index), window.start_ns, window.end_ns);
  trace.counters = counter_curves(trace.table, window);
  return trace;
}

/// "out.json.gz" for rank 3 of several -> "out-rank3.json.gz".
std::string file_of_rank(const std::string& path, int32_t rank) {
  const size_t slash = path.find_last_of('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  size_t dot = path.find(".json", name);
  if (dot == std::string::npos) dot = path.find('.', name + 1);
  if (dot == std::string::npos) dot = path.size();
  return fmt::format("{}-rank{}{}", path.substr(0, dot), rank, path.substr(dot));
}

}  // namespace

Result<std::vector<std::string>> write_replayed_trace(const ExecGraph& graph, const Timeline& timeline,
                                                      const std::string& path) {
  const bool perfetto = path.ends_with(".pftrace") || path.ends_with(".pftrace.gz");
  const bool several = graph.ranks.size() > 1;
  std::vector<RankTrace> traces;
  std::vector<PerfettoRank> ranks;
  std::vector<std::string> files;
  for (uint32_t r = 0; r < graph.ranks.size(); ++r) {
    RankTrace trace = rank_trace(graph, timeline, r);
    if (perfetto) {
      traces.push_back(std::move(trace));
      continue;
    }
    ChromeOptions options;
    options.counters = std::move(trace.counters);
    files.push_back(several && path != "-" ? file_of_rank(path, graph.ranks[r].rank) : path);
    TRY_STATUS(write_chrome_trace(trace.table, files.back(), options));
  }
  if (perfetto) {
    for (uint32_t r = 0; r < traces.size(); ++r) {
      ranks.push_back({&traces[r].table, fmt::format("rank {}", graph.ranks[r].rank), std::move(traces[r].counters)});
    }
    TRY_STATUS(write_perfetto_trace(ranks, path));
    files.push_back(path);
  }
  return files;
}

}  // namespace lumos

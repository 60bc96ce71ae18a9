// What must hold for every trace, on the public ones below $LUMOS_DATA/traces.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "lumos/base/json_value.h"
#include "lumos/base/test_data.h"
#include "lumos/base/test_folder.h"
#include "lumos/graph/rank/build.h"
#include "lumos/report/figures/attribution.h"
#include "lumos/report/figures/breakdown.h"
#include "lumos/report/figures/busy.h"
#include "lumos/report/figures/critical_path.h"
#include "lumos/report/figures/measured_timeline.h"
#include "lumos/report/files/overlay.h"
#include "lumos/report/files/trace_files.h"
#include "lumos/report/results/path_table.h"
#include "lumos/sim/simulate.h"
#include "lumos/trace/kineto/byte_source.h"
#include "lumos/trace/kineto/reader.h"

namespace lumos {
namespace {

std::vector<std::string> trace_files() {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_path("traces"), error)) {
    if (entry.path().string().ends_with(".json.gz")) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void expect_sums(const ExecGraph& graph, const Timeline& timeline, const Step& step) {
  const CriticalPath path = critical_path(graph, timeline, 0, step);
  const Window window = simulated_window(timeline, step);
  int64_t reached_ns = window.start_ns;
  for (const PathPiece& piece : path.pieces) {
    EXPECT_EQ(piece.from_ns, reached_ns) << step.name;
    reached_ns = piece.to_ns;
  }
  EXPECT_EQ(reached_ns, window.end_ns) << step.name;
  for (const auto& shares : {path_by_cause(graph, path), path_by_task(graph, path)}) {
    int64_t sum_ns = 0;
    for (const PathShare& share : shares) sum_ns += share.time_ns;
    EXPECT_EQ(sum_ns, window.length_ns()) << step.name;
  }
}

TEST(PublicTraces, CriticalPathsAndAttributionSumToTheSteps) {
  SKIP_WITHOUT_DATA(data_path("traces"));
  for (const std::string& file : trace_files()) {
    SCOPED_TRACE(file);
    Result<EventTable> table = read_trace(file, ReadOptions{});
    if (!table) continue;  // One of them is no trace at all.
    const ExecGraph graph = build_graph(std::make_shared<const EventTable>(std::move(*table)), BuildOptions{});
    const Timeline timeline = simulate(graph);
    const RankTasks& rank = graph.ranks[0];
    const std::vector<RowTemplate> templates = row_templates(*rank.table);
    for (const Step& step : rank.steps) {
      expect_sums(graph, timeline, step);
      const Window measured = measured_window(graph, rank, step);
      int64_t owned_ns = 0;
      for (const OwnedTime& time : attribute_time(*rank.table, templates, {measured})) owned_ns += time.time_ns;
      EXPECT_EQ(owned_ns, measured.length_ns()) << step.name;
    }
  }
}

/// Name, start and length of all GPU work, from the first row on.
std::vector<std::tuple<std::string, int64_t, int64_t>> gpu_timeline(const EventTable& table) {
  std::vector<std::tuple<std::string, int64_t, int64_t>> rows;
  for (size_t row = 0; row < table.size(); ++row) {
    if (is_gpu_work(table.kind[row])) rows.emplace_back(table.name_of(row), table.ts_ns[row], table.dur_ns[row]);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(PublicTraces, ReplayedTracesReadBackAsTheSameTimeline) {
  SKIP_WITHOUT_DATA(data_path("traces"));
  constexpr uintmax_t kLargestTrace = 200'000;  // compressed: what is read back in a moment
  const TempFolder folder;
  for (const std::string& file : trace_files()) {
    if (std::filesystem::file_size(file) > kLargestTrace) continue;
    SCOPED_TRACE(file);
    Result<EventTable> table = read_trace(file, ReadOptions{});
    if (!table) continue;
    const ExecGraph graph = build_graph(std::make_shared<const EventTable>(std::move(*table)), BuildOptions{});
    const Timeline timeline = simulate(graph);
    const std::string path = folder.path("replayed.json");
    ASSERT_TRUE(write_replayed_trace(graph, timeline, path));
    const Result<EventTable> back = read_trace(path, ReadOptions{});
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(gpu_timeline(*back), gpu_timeline(replayed_rank_trace(graph, timeline, 0).table));
  }
}

/// Start in microseconds and name of the events that a Holistic Trace Analysis overlay marks as critical.
std::set<std::pair<int64_t, std::string>> critical_events_of_overlay(const std::string& file) {
  Result<ByteSource> source = ByteSource::open(file);
  EXPECT_TRUE(source);
  std::string text;
  std::string block(1 << 16, '\0');
  for (size_t got; (got = *source->read(block.data(), block.size())) > 0;) text.append(block, 0, got);
  const Result<Value> root = parse_json(text, file);
  EXPECT_TRUE(root);
  std::set<std::pair<int64_t, std::string>> events;
  for (const Value& event : *root->find("traceEvents")->get<Value::Array>()) {
    const Value* phase = event.find("ph");
    const Value* args = event.find("args");
    if (phase == nullptr || *phase->get<std::string>() != "X" || args == nullptr) continue;
    if (args->find("critical") == nullptr) continue;
    events.emplace(*event.find("ts")->get<int64_t>(), *event.find("name")->get<std::string>());
  }
  return events;
}

// The differences are explained in docs/critical_path.md: the last six pieces of GPU work had ended long before the
// host went to wait for them.
TEST(PublicTraces, TheMeasuredPathIsThatOfHolisticTraceAnalysis) {
  const std::string trace = data_path("traces/cuda-sync/simple-add.json.gz");
  const std::string overlay = data_path("traces/cuda-sync/simple-add.hta-critical-path-overlay.json.gz");
  SKIP_WITHOUT_DATA(overlay);
  Result<EventTable> table = read_trace(trace, ReadOptions{});
  ASSERT_TRUE(table);
  const ExecGraph graph = build_graph(std::make_shared<const EventTable>(std::move(*table)), BuildOptions{});
  ChromeOptions options;
  add_critical_path(graph, 0, critical_path(graph, measured_timeline(graph), 0, graph.ranks[0].steps[0]), options);
  const auto theirs = critical_events_of_overlay(overlay);
  ASSERT_EQ(theirs.size(), 624u);
  const EventTable& rows = *graph.ranks[0].table;
  size_t on_both = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (theirs.count({rows.ts_ns[row] / 1000, std::string(rows.name_of(row))}) == 0) continue;
    if (options.critical[row] != 0) {
      ++on_both;
    } else {
      EXPECT_TRUE(is_gpu_work(rows.kind[row])) << rows.name_of(row) << " at " << rows.ts_ns[row];
    }
  }
  EXPECT_EQ(on_both, 618u);
}

// What Holistic Trace Analysis 0.5.0 prints of the DLRM traces, from the first kernel's start to the last one's end.
// Its idle time is what "other" is here, its compute time leaves copies out, and its non-compute time is the rest.
TEST(PublicTraces, TheBreakdownIsThatOfHolisticTraceAnalysis) {
  SKIP_WITHOUT_DATA(data_path("traces/dlrm-8rank-v100"));
  struct Printed {
    int64_t idle_us, compute_us, non_compute_us;
    double overlap_pct;  ///< of communication
  };
  constexpr Printed kPrinted[] = {{6419, 1034, 5556, 4.50}, {6428, 1246, 11075, 2.47}, {7046, 1068, 3236, 7.88},
                                  {8145, 1240, 9468, 3.31}, {8887, 1126, 6576, 0.56},  {9121, 1041, 6230, 0.64},
                                  {7051, 1051, 3308, 7.56}, {8308, 1059, 1600, 9.51}};
  for (size_t rank = 0; rank < std::size(kPrinted); ++rank) {
    SCOPED_TRACE(rank);
    const std::string file = data_path("traces/dlrm-8rank-v100/rank" + std::to_string(rank) + ".json.gz");
    const Result<EventTable> table = read_trace(file, ReadOptions{});
    ASSERT_TRUE(table);
    const std::vector<BusyInterval> all = busy_intervals(*table);
    Window window{all.front().start_ns, 0};
    for (const BusyInterval& interval : all) window.end_ns = std::max(window.end_ns, interval.end_ns);
    std::vector<BusyInterval> kernels = all;  // Copies fill no SM.
    std::erase_if(kernels, [](const BusyInterval& each) { return !each.communication && each.sm_share == 0; });
    const Breakdown ours = breakdown(all, window);
    const Breakdown without_copies = breakdown(kernels, window);
    const int64_t compute_ns = without_copies.exposed_compute_ns + without_copies.overlapped_ns;
    EXPECT_EQ(ours.other_ns, 1000 * kPrinted[rank].idle_us);
    EXPECT_EQ(compute_ns, 1000 * kPrinted[rank].compute_us);
    EXPECT_EQ(window.length_ns() - ours.other_ns - compute_ns, 1000 * kPrinted[rank].non_compute_us);
    const auto communication_ns = static_cast<double>(without_copies.overlapped_ns + without_copies.exposed_comm_ns);
    EXPECT_NEAR(100 * static_cast<double>(without_copies.overlapped_ns) / communication_ns, kPrinted[rank].overlap_pct,
                0.01);
  }
}

}  // namespace
}  // namespace lumos

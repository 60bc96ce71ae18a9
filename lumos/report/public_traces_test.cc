// What must hold for every trace, on the public ones below $LUMOS_DATA/traces.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "lumos/base/test_data.h"
#include "lumos/graph/build.h"
#include "lumos/report/attribution.h"
#include "lumos/report/critical_path.h"
#include "lumos/report/path_table.h"
#include "lumos/sim/simulate.h"
#include "lumos/trace/reader.h"

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
    for (const Step& step : rank.steps) {
      expect_sums(graph, timeline, step);
      const Window measured = measured_window(graph, rank, step);
      int64_t owned_ns = 0;
      for (const OwnedTime& time : attribute_time(*rank.table, {measured})) owned_ns += time.time_ns;
      EXPECT_EQ(owned_ns, measured.length_ns()) << step.name;
    }
  }
}

}  // namespace
}  // namespace lumos

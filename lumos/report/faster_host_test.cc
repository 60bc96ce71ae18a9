// A host that gets faster must not make a step longer, whatever the trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "lumos/base/test_data.h"
#include "lumos/graph/job/job.h"
#include "lumos/report/figures/job_step.h"
#include "lumos/report/results/predict_result.h"
#include "lumos/sim/simulate.h"
#include "lumos/whatif/edit/change.h"

namespace lumos {
namespace {

// All ends come earlier or stay. From the end of one step to the end of the next may still grow, by as much as the
// first comes earlier; over several steps little of that is left. Kernels also lose a little to what is then beside
// them.
constexpr double kMostGrowth = 1.002;

/// Ranks of one job lie in one folder; other folders hold traces that have nothing to do with each other.
std::vector<std::string> jobs() {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& folder : std::filesystem::directory_iterator(data_path("traces"), error)) {
    if (!folder.is_directory()) continue;
    bool ranks = true;
    std::vector<std::string> files;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      ranks = ranks && file.path().filename().string().starts_with("rank");
      files.push_back(file.path().string());
    }
    if (ranks) files = {folder.path().string()};
    out.insert(out.end(), files.begin(), files.end());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(FasterHost, LengthensNoStepOfAnyTrace) {
  SKIP_WITHOUT_DATA(data_path("traces"));
  for (const std::string& path : jobs()) {
    const auto job = load_job({path}, {});
    if (!job) continue;  // one of them is no trace
    ChangeList half, none;
    half.scales.push_back(*parse_scale("host=0.5"));
    none.changes.push_back(*parse_change("no-launch-overhead", ""));
    for (const ChangeList& list : {half, none}) {
      const auto changed = apply_changes(*job, list);
      if (!changed) continue;  // no host in it
      const PredictResult result = predict_result(job->linked.graph, changed->graph, {});
      EXPECT_LE(result.predicted_ms, kMostGrowth * result.base_ms) << path << " " << changed->matches[0].text;
      EXPECT_LE(result.base_unprofiled_ms, kMostGrowth * result.base_ms) << path;
      const BreakdownMs& parts = result.breakdown;
      EXPECT_NEAR(parts.exposed_compute + parts.overlapped + parts.exposed_comm + parts.other, result.predicted_ms,
                  1e-6 * result.predicted_ms + 1e-6)
          << path;
    }
  }
}

TEST(StepPace, IsTheStepWhereStepsDoNotOverlapAndBelowItWhereTheyDo) {
  ExecGraph graph;
  graph.ranks.resize(1);
  RankTasks& rank = graph.ranks[0];
  // Marks of two steps on the host at 0 and 10, their kernels end at 100 and 180; then at 100 and 180 themselves.
  graph.kind = {TaskKind::kHost, TaskKind::kHost, TaskKind::kHost, TaskKind::kKernel, TaskKind::kKernel};
  graph.duration_ns.assign(5, 0);
  graph.measured_start_ns.assign(5, 0);
  graph.processor = {0, 0, 0, 1, 1};
  graph.event.assign(5, kNoIndex);
  graph.edge_begin.assign(6, 0);
  rank.end_task = 5;
  rank.steps.resize(2);
  rank.steps[0].first_task = 0, rank.steps[0].next_task = 1, rank.steps[0].last_gpu_tasks = {3};
  rank.steps[1].first_task = 1, rank.steps[1].last_task = 2, rank.steps[1].last_gpu_tasks = {4};
  const StepPace pace(graph);
  Timeline ahead{{0, 10, 20, 0, 100}, {10, 20, 30, 100'000'000, 180'000'000}, {}};
  EXPECT_DOUBLE_EQ(pace.ms(ahead), 90);
  EXPECT_NEAR(simulated_step_ms(graph, ahead), 140, 1e-3);
  Timeline closed{
      {0, 100'000'000, 180'000'000, 0, 100'000'000}, {0, 100'000'000, 180'000'000, 100'000'000, 180'000'000}, {}};
  EXPECT_DOUBLE_EQ(pace.ms(closed), 90);
  EXPECT_DOUBLE_EQ(simulated_step_ms(graph, closed), 90);
}

}  // namespace
}  // namespace lumos

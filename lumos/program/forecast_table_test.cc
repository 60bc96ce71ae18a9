#include "lumos/program/forecast_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "lumos/graph/rank/build.h"
#include "lumos/model/job/test_jobs.h"
#include "lumos/program/predict.h"
#include "lumos/program/synth/synthetic_job.h"
#include "lumos/program/test_program.h"

namespace lumos {
namespace {

std::vector<EventTable> tables_with(const std::vector<JobSetting>& settings, double* step_ms) {
  const TestTraceShape shape;
  auto job = resolve_job({{"num_layers", std::to_string(shape.layers)},
                          {"hidden_size", "1024"},
                          {"num_attention_heads", "16"},
                          {"seq_length", "1024"},
                          {"vocab_size", "32000"},
                          {"world_size", "1"},
                          {"num_microbatches", std::to_string(shape.microbatches)}});
  auto recovery = recover_job({build_graph(TestTrace(shape).table(), {})}, *job, default_network());
  ForecastOptions options;
  options.tables = true;
  auto found = forecast(*recovery, *change_job(*job, settings), options);
  EXPECT_TRUE(found) << (found ? "" : found.error().message);
  *step_ms = found->changed.mean.step_ms;
  return std::move(found->tables);
}

TEST(ForecastTable, HoldsTheChangedStepWithItsLaunches) {
  double step_ms = 0;
  const auto tables = tables_with({{"num_layers", "8"}}, &step_ms);
  ASSERT_EQ(tables.size(), 1u);
  const EventTable& table = tables[0];
  std::map<std::string, int> kernels;
  std::map<int64_t, int> sides;  // of each correlation: its call and its kernel
  double window_ms = 0;
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] == EventKind::kKernel) ++kernels[std::string(table.name_of(row))];
    if (table.correlation[row] > 0) ++sides[table.correlation[row]];
    if (table.kind[row] == EventKind::kAnnotation) window_ms = static_cast<double>(table.dur_ns[row]) / 1e6;
  }
  EXPECT_EQ(kernels["attend"], 8 * TestTraceShape{}.microbatches);
  EXPECT_EQ(kernels["loss"], TestTraceShape{}.microbatches);
  for (auto& [correlation, count] : sides) EXPECT_EQ(count, 2);
  EXPECT_NEAR(window_ms, step_ms, 0.01 * step_ms);
}

// Its blocks come from ranks of other processes; threads of different ones would not be seen to wait for each other.
TEST(ForecastTable, ARankIsOneProcess) {
  const Job job = test_job({{"num_layers", "4"},
                            {"hidden_size", "512"},
                            {"num_attention_heads", "8"},
                            {"seq_length", "512"},
                            {"num_microbatches", "4"},
                            {"tensor_model_parallel_size", "1"},
                            {"pipeline_model_parallel_size", "2"},
                            {"data_parallel_size", "2"}});
  SyntheticOptions made;
  made.ranks = {0, 1, 2, 3};
  auto synthetic = simulate_job(job, test_cluster(), made);
  ASSERT_TRUE(synthetic);
  std::vector<ExecGraph> graphs;
  for (int64_t rank : made.ranks) {
    EventTable table = synthetic_table(*synthetic, job, test_cluster(), rank, made.steps);
    const std::set<NameId> texts(table.name.begin(), table.name.end());
    ASSERT_GE(texts.size(), 4u);
    for (Lane& lane : table.lanes) {
      if (lane.is_gpu) continue;
      lane.pid = 1000 + rank;
      lane.pid_text = *std::next(texts.begin(), rank);  // Any text will do that is not that of another rank.
    }
    graphs.push_back(build_graph(std::make_shared<const EventTable>(std::move(table)), {}));
  }
  const auto recovery = recover_job(graphs, job, default_network());
  ASSERT_TRUE(recovery) << recovery.error().message;
  ForecastOptions options;
  options.tables = true;
  options.seeds = 2;
  const auto found = forecast(*recovery, *change_job(job, "pipeline_model_parallel_size", "1"), options);
  ASSERT_TRUE(found) << found.error().message;
  for (const EventTable& table : found->tables) {
    std::set<std::string> processes;
    for (const Lane& lane : table.lanes)
      if (!lane.is_gpu) processes.insert(std::string(table.text(lane.pid_text)));
    EXPECT_EQ(processes.size(), 1u);
  }
}

int gathers_of(const EventTable& table) {
  int count = 0;
  for (uint32_t row = 0; row < table.size(); ++row)
    count += table.kind[row] == EventKind::kKernel && table.name_of(row).find("AllGather") != std::string_view::npos;
  return count;
}

// What is put in has one row in the traced program, but a launch and a kernel each time that a block runs it.
TEST(ForecastTable, EachCollectiveThatIsPutInIsAKernelOfItsOwn) {
  const Job job = test_job({{"num_layers", "4"},
                            {"hidden_size", "512"},
                            {"num_attention_heads", "8"},
                            {"seq_length", "512"},
                            {"num_microbatches", "2"},
                            {"tensor_model_parallel_size", "2"}});
  const Job target = *change_job(job, "sequence_parallel", "true");
  const auto run = [](const Job& of) {
    SyntheticOptions made;
    made.ranks = {0};
    made.steps = 1;
    auto synthetic = simulate_job(of, test_cluster(), made);
    EXPECT_TRUE(synthetic);
    return synthetic_table(*synthetic, of, test_cluster(), 0, made.steps);
  };
  const auto graph = build_graph(std::make_shared<const EventTable>(run(job)), {});
  const auto recovery = recover_job({graph}, job, default_network());
  ASSERT_TRUE(recovery) << recovery.error().message;
  ForecastOptions options;
  options.tables = true;
  const auto found = forecast(*recovery, target, options);
  ASSERT_TRUE(found) << found.error().message;
  const EventTable& table = found->tables[0];
  EXPECT_EQ(gathers_of(table), gathers_of(run(target)));
  std::map<int64_t, int> sides;
  std::map<uint32_t, std::map<int64_t, int64_t>> streams;  // end by start
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (table.correlation[row] > 0) ++sides[table.correlation[row]];
    if (!is_gpu_work(table.kind[row])) continue;
    EXPECT_TRUE(streams[table.lane[row]].emplace(table.ts_ns[row], table.end_ns(row)).second);
  }
  // Calls that record or wait launch nothing.
  for (const auto& [correlation, count] : sides) EXPECT_LE(count, 2);
  for (const auto& [lane, rows] : streams) {
    int64_t end_ns = 0;
    for (const auto& [start_ns, row_end_ns] : rows) {
      EXPECT_GE(start_ns, end_ns) << "two kernels at once on one stream";
      end_ns = row_end_ns;
    }
  }
}

TEST(ForecastTable, ReplaysLikeAMeasuredTrace) {
  double step_ms = 0;
  auto tables = tables_with({{"num_layers", "8"}}, &step_ms);
  const TestTraceShape shape;
  auto job = resolve_job({{"num_layers", "8"},
                          {"hidden_size", "1024"},
                          {"num_attention_heads", "16"},
                          {"seq_length", "1024"},
                          {"vocab_size", "32000"},
                          {"world_size", "1"},
                          {"num_microbatches", std::to_string(shape.microbatches)}});
  const auto graph = build_graph(std::make_shared<const EventTable>(std::move(tables[0])), {});
  auto recovery = recover_job({graph}, *job, default_network());
  ASSERT_TRUE(recovery) << recovery.error().message;
  EXPECT_EQ(recovery->program.ranks[0].recovered.layers_per_chunk, 8);
  EXPECT_NEAR(forecast(*recovery, *job, {})->changed.mean.step_ms, step_ms, 0.02 * step_ms);
}

}  // namespace
}  // namespace lumos

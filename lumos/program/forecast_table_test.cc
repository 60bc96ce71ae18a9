#include "lumos/program/forecast_table.h"

#include <gtest/gtest.h>

#include <map>

#include "lumos/graph/build.h"
#include "lumos/program/predict.h"
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

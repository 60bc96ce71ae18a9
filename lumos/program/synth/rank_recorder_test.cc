#include "lumos/program/synth/rank_recorder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumos/program/lower/lower.h"
#include "lumos/sim/replayed_table.h"
#include "lumos/sim/simulate.h"

namespace lumos {
namespace {

/// What was recorded, lowered block by block and simulated.
EventTable run(RankRecorder& recorder) {
  Program program;
  program.lanes = synthetic_lanes();
  program.ranks.push_back(recorder.finish({}));
  LowerPlan plan;
  plan.ranks.emplace_back();
  for (uint32_t block = 0; block < program.ranks[0].blocks.size(); ++block) plan.ranks[0].blocks.push_back({0, block});
  const auto graph = lower(program, plan, measured_durations(program));
  EXPECT_TRUE(graph);
  return replayed_table(*graph, simulate(*graph), 0);
}

uint32_t row_of(const EventTable& table, std::string_view name) {
  for (uint32_t row = 0; row < table.size(); ++row)
    if (table.name_of(row) == name) return row;
  ADD_FAILURE() << "no row " << name;
  return 0;
}

GpuWorkItem kernel(std::string_view name, int64_t duration_ns, bool communicates = false) {
  GpuWorkItem item;
  item.name = name;
  item.duration_ns = duration_ns;
  item.communicates = communicates;
  return item;
}

constexpr LaunchCost kLaunch{"cudaLaunchKernel", 4'000};

TEST(RankRecorder, AKernelStartsAfterItsLaunchAndItsStream) {
  RankRecorder recorder(0);
  recorder.begin_block(BlockRole::kForwardLayer, {});
  recorder.work(Place::kMain, 10'000);
  recorder.launch(Place::kMain, Place::kCompute, kernel("first", 50'000), kLaunch);
  recorder.begin_block(BlockRole::kForwardLayer, {});
  recorder.launch(Place::kMain, Place::kCompute, kernel("second", 20'000), kLaunch);
  const EventTable table = run(recorder);
  const uint32_t first = row_of(table, "first"), second = row_of(table, "second");
  EXPECT_EQ(table.ts_ns[first], 10'000 + kLaunchLatencyNs);
  EXPECT_EQ(table.ts_ns[second], table.end_ns(first) + kStreamGapNs);
  EXPECT_EQ(table.correlation[first], table.correlation[row_of(table, "cudaLaunchKernel")]);
}

TEST(RankRecorder, AStreamWaitsForWhatWasRecordedAndNoMore) {
  RankRecorder recorder(0);
  recorder.begin_block(BlockRole::kForwardLayer, {});
  recorder.launch(Place::kMain, Place::kCompute, kernel("before", 50'000), kLaunch);
  const uint32_t recorded = recorder.record(Place::kMain, Place::kCompute, 1'000);
  recorder.launch(Place::kMain, Place::kCompute, kernel("after", 90'000), kLaunch);
  recorder.wait(Place::kMain, Place::kTensor, recorded, 1'000);
  recorder.launch(Place::kMain, Place::kTensor, kernel("all-reduce", 30'000, true), kLaunch);
  const EventTable table = run(recorder);
  EXPECT_EQ(table.ts_ns[row_of(table, "all-reduce")], table.end_ns(row_of(table, "before")) + kStreamGapNs);
  EXPECT_EQ(table.dur_ns[row_of(table, "all-reduce")], 30'000);
}

TEST(RankRecorder, ASynchroniseReturnsWhenAllStreamsAreDone) {
  RankRecorder recorder(0);
  recorder.begin_block(BlockRole::kLog, {});
  recorder.launch(Place::kMain, Place::kCompute, kernel("short", 10'000), kLaunch);
  recorder.launch(Place::kMain, Place::kData, kernel("long", 400'000, true), kLaunch);
  recorder.synchronize_device(Place::kMain, 1'000);
  recorder.work(Place::kMain, 1'000);
  const EventTable table = run(recorder);
  EXPECT_EQ(table.end_ns(row_of(table, "cudaDeviceSynchronize")), table.end_ns(row_of(table, "long")) + kSyncReturnNs);
}

TEST(RankRecorder, ThreadsTakeTurnsAndRowsNest) {
  RankRecorder recorder(0);
  recorder.begin_block(BlockRole::kBackwardLayer, {});
  recorder.open(Place::kMain, EventKind::kCpuOp, "outer");
  recorder.work(Place::kMain, 5'000);
  recorder.open(Place::kMain, EventKind::kCpuOp, "inner");
  recorder.work(Place::kMain, 7'000);
  recorder.close(Place::kMain);
  recorder.close(Place::kMain);
  recorder.hand_over(Place::kMain, Place::kAutograd);
  recorder.open(Place::kAutograd, EventKind::kCpuOp, "backward");
  recorder.work(Place::kAutograd, 3'000);
  recorder.close(Place::kAutograd);
  const EventTable table = run(recorder);
  const uint32_t outer = row_of(table, "outer"), inner = row_of(table, "inner");
  EXPECT_EQ(table.dur_ns[outer], 12'000);
  EXPECT_EQ(table.ts_ns[inner], table.ts_ns[outer] + 5'000);
  EXPECT_EQ(table.ts_ns[row_of(table, "backward")], table.end_ns(outer) + kWakeNs);
}

}  // namespace
}  // namespace lumos

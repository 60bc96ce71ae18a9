#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "lumos/program/predict.h"
#include "lumos/program/test_recovery.h"

namespace lumos {
namespace {

/// `table` with an operator on each of `count` more threads.
EventTable with_threads(const EventTable& table, int64_t count) {
  EventTable out = table;
  auto names = std::make_shared<NamePool>();
  for (uint32_t id = 0; id < table.names->size(); ++id) names->intern(table.names->text(NameId{id}));
  const int64_t begin_ns = *std::min_element(table.ts_ns.begin(), table.ts_ns.end());
  for (int64_t i = 0; i < count; ++i) {
    Lane lane;
    lane.pid = table.lanes.front().pid;
    lane.pid_text = table.lanes.front().pid_text;
    lane.tid = 1'000'000 + i;
    lane.tid_text = names->intern(std::to_string(lane.tid));
    out.ts_ns.push_back(begin_ns + i);
    out.dur_ns.push_back(1'000);
    out.name.push_back(names->intern("aten::add"));
    out.lane.push_back(static_cast<uint32_t>(out.lanes.size()));
    out.kind.push_back(EventKind::kCpuOp);
    out.correlation.push_back(-1);
    out.external_id.push_back(0);
    out.detail.push_back(kNoIndex);
    out.lanes.push_back(lane);
  }
  out.names = names;
  return out;
}

// More threads than 16 bits count: loops over them must end, and nothing may grow with their square.
TEST(ManyThreads, APredictionEndsAndDoesNotChange) {
  constexpr int64_t kThreads = 100'000;
  const Job job = test_job({{"data_parallel_size", "2"}, {"num_microbatches", "2"}});
  const std::vector<EventTable> tables = synthetic_tables(job);
  std::vector<EventTable> crowded;
  for (const EventTable& table : tables) crowded.push_back(with_threads(table, kThreads));
  const Job target = change_job(job, {{"num_microbatches", "4"}}).value();
  ForecastOptions options;
  options.seeds = 1;
  const auto predicted = [&](const Recovery& recovery) {
    const auto found = forecast(recovery, target, options);
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    return found ? found->changed.mean.step_ms : 0;
  };
  const Recovery many = recover_of(crowded, job);
  EXPECT_GT(many.program.lanes.size(), static_cast<size_t>(kThreads));
  EXPECT_DOUBLE_EQ(predicted(many), predicted(recover_of(tables, job)));
}

}  // namespace
}  // namespace lumos

// A trace that was written as Chrome JSON and is read again must replay as the one that it was written from.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "lumos/base/test_data.h"
#include "lumos/base/test_folder.h"
#include "lumos/graph/job/job.h"
#include "lumos/report/files/trace_files.h"
#include "lumos/report/results/replay_result.h"
#include "lumos/sim/simulate.h"
#include "lumos/trace/kineto/reader.h"

namespace lumos {
namespace {

constexpr uintmax_t kLargestTrace = 200'000;  // compressed; the test of all of them together then takes seconds

ReplayResult replayed(EventTable table) {
  std::vector<EventTable> tables;
  tables.push_back(std::move(table));
  const LinkedJob job = link_job(std::move(tables), {});
  return replay_result(job.linked.graph, simulate(job.linked.graph), {});
}

EventTable written_and_read(const EventTable& table) {
  const TempFolder folder;
  const std::string path = folder.path("round_trip.json");
  const auto files = write_trace_files(
      1, [&](size_t) { return measured_rank_trace(table); }, path);
  EXPECT_TRUE(files.has_value());
  auto again = read_trace(path, {});
  EXPECT_TRUE(again.has_value()) << (again ? "" : again.error().message);
  return again ? std::move(*again) : EventTable{};
}

void expect_same(const BreakdownMs& a, const BreakdownMs& b, const std::string& what) {
  EXPECT_DOUBLE_EQ(a.exposed_compute, b.exposed_compute) << what;
  EXPECT_DOUBLE_EQ(a.overlapped, b.overlapped) << what;
  EXPECT_DOUBLE_EQ(a.exposed_comm, b.exposed_comm) << what;
  EXPECT_DOUBLE_EQ(a.other, b.other) << what;
}

void expect_same_replay(const EventTable& table, const std::string& what) {
  const ReplayResult before = replayed(table), after = replayed(written_and_read(table));
  EXPECT_DOUBLE_EQ(before.measured_ms, after.measured_ms) << what;
  EXPECT_DOUBLE_EQ(before.replayed_ms, after.replayed_ms) << what;
  expect_same(before.measured, after.measured, what);
  expect_same(before.replayed, after.replayed, what);
  ASSERT_EQ(before.ranks[0].steps.size(), after.ranks[0].steps.size()) << what;
  for (size_t s = 0; s < before.ranks[0].steps.size(); ++s) {
    EXPECT_EQ(before.ranks[0].steps[s].name, after.ranks[0].steps[s].name) << what;
    EXPECT_EQ(before.ranks[0].steps[s].replayed.length_ns(), after.ranks[0].steps[s].replayed.length_ns()) << what;
  }
}

TEST(RoundTrip, ChangesNoPublicTrace) {
  SKIP_WITHOUT_DATA(data_path("traces"));
  std::error_code error;
  size_t traces = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_path("traces"), error)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".json.gz") || entry.file_size() > kLargestTrace) continue;
    const auto table = read_trace(path, {});
    if (!table) continue;  // one of them is no trace
    ++traces;
    expect_same_replay(*table, path);
  }
  EXPECT_GT(traces, 0u);
}

// Viewers cannot draw slices that overlap without nesting: they are written to tracks of their own.
TEST(RoundTrip, KeepsRowsThatOverlapOnTheirLane) {
  const TempFolder folder;
  const std::string path = folder.write("overlapping.json", R"([
{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":"Exec","ts":10,"dur":100,"args":{"device":0,"stream":"Exec"}},
{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":"Exec","ts":50,"dur":100,"args":{"device":0,"stream":"Exec"}},
{"ph":"X","cat":"kernel","name":"c","pid":0,"tid":"Exec","ts":60,"dur":100,"args":{"device":0,"stream":"Exec"}},
{"ph":"X","cat":"cpu_op","name":"d","pid":1,"tid":7,"ts":10,"dur":50},
{"ph":"X","cat":"cpu_op","name":"e","pid":1,"tid":7,"ts":30,"dur":50},
{"ph":"X","cat":"kernel","name":"f","pid":1,"tid":7,"ts":10,"dur":50,"args":{"device":1,"stream":7}}])");
  const auto table = read_trace(path, {});
  ASSERT_TRUE(table.has_value()) << table.error().message;
  const EventTable again = written_and_read(*table);
  ASSERT_EQ(again.lanes.size(), table->lanes.size());
  const auto places = [](const EventTable& of) {
    std::vector<std::tuple<std::string, bool, int64_t, std::string>> rows;
    for (size_t row = 0; row < of.size(); ++row) {
      const Lane& lane = of.lanes[of.lane[row]];
      rows.emplace_back(of.name_of(row), lane.is_gpu, lane.tid, of.text(lane.tid_text));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  EXPECT_EQ(places(*table), places(again));
  expect_same_replay(*table, path);
}

}  // namespace
}  // namespace lumos

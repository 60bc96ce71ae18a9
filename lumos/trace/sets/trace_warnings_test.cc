#include "lumos/trace/sets/trace_warnings.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

/// A rank with one step and one operator; a launch where asked for.
EventTable trace_of(int32_t rank, const std::string& step, bool launches = false) {
  EventTable table;
  auto names = std::make_shared<NamePool>();
  table.lanes.resize(1);
  const auto add = [&](EventKind kind, const std::string& name) {
    table.ts_ns.push_back(1000 * static_cast<int64_t>(table.size()));
    table.dur_ns.push_back(1);
    table.name.push_back(names->intern(name));
    table.lane.push_back(0);
    table.kind.push_back(kind);
    table.correlation.push_back(-1);
    table.external_id.push_back(0);
    table.detail.push_back(kNoIndex);
  };
  add(EventKind::kAnnotation, step);
  add(EventKind::kCpuOp, "aten::mm");
  if (launches) add(EventKind::kRuntime, "cudaLaunchKernel");
  table.names = names;
  table.info.file = "rank" + std::to_string(rank) + ".json";
  table.info.rank = rank;
  table.info.rank_source = TraceInfo::RankSource::kDistributedInfo;
  return table;
}

std::vector<std::string> warnings_of(const std::vector<EventTable>& tables) {
  std::vector<const EventTable*> pointers;
  for (const EventTable& table : tables) pointers.push_back(&table);
  return trace_warnings(pointers);
}

TEST(TraceWarnings, WholeTracesOfOneJobNeedNone) {
  EXPECT_TRUE(warnings_of({trace_of(0, "ProfilerStep#3"), trace_of(1, "ProfilerStep#3")}).empty());
  EXPECT_TRUE(warnings_of({}).empty());
}

TEST(TraceWarnings, ACutIsToldWithItsPlaceOnceForAllFiles) {
  std::vector<EventTable> tables;
  for (int32_t rank = 0; rank < 6; ++rank) tables.push_back(trace_of(rank, "ProfilerStep#3"));
  for (EventTable& table : tables) table.info.truncated = true, table.info.decoded_bytes = 77, table.info.events = 2;
  const auto warnings = warnings_of(tables);
  ASSERT_EQ(warnings.size(), 1u);
  for (const char* part : {"rank0.json", "after 77 bytes", "'aten::mm'", "2 events", "rank3.json and 2 more"})
    EXPECT_NE(warnings[0].find(part), std::string::npos) << part << ": " << warnings[0];
}

TEST(TraceWarnings, AnEventFarFromAllOthersIsTold) {
  const auto row_at = [](size_t moved, int64_t ts_ns) {
    EventTable table = trace_of(0, "ProfilerStep#3");
    while (table.size() < 96) {
      table.ts_ns.push_back(1000 * static_cast<int64_t>(table.size()));
      table.dur_ns.push_back(1);
      table.name.push_back(table.name.back());
      table.lane.push_back(0);
      table.kind.push_back(EventKind::kCpuOp);
      table.correlation.push_back(-1);
      table.external_id.push_back(0);
      table.detail.push_back(kNoIndex);
    }
    table.ts_ns[moved] = ts_ns;
    return table;
  };
  for (size_t moved : {size_t{1}, size_t{50}, size_t{95}}) {
    for (int64_t ts_ns : {int64_t{90'000'000'000}, int64_t{9'000'000'000'000'000}, INT64_MAX / 4, -INT64_MAX / 4}) {
      const auto warnings = warnings_of({row_at(moved, ts_ns)});
      ASSERT_EQ(warnings.size(), 1u) << ts_ns;
      for (const char* part : {"rank0.json", "'aten::mm'", ts_ns > 0 ? "after all" : "before all"})
        EXPECT_NE(warnings[0].find(part), std::string::npos) << warnings[0];
    }
    EXPECT_TRUE(warnings_of({row_at(moved, 30'000'000'000)}).empty());  // a pause of the profiler
  }
}

TEST(TraceWarnings, LaunchesWithoutGpuWorkAreTold) {
  const auto warnings = warnings_of({trace_of(0, "ProfilerStep#3", true)});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("no GPU work"), std::string::npos);
}

// "Nothing ran" alone would have users look for a fault of their program.
TEST(TraceWarnings, WhereNothingRanItIsToldWhatBecameOfTheEvents) {
  EventTable table;
  table.info.file = "a.json";
  EXPECT_EQ(warnings_of({table}), std::vector<std::string>{"a.json: nothing ran in this trace"});
  table.info.events = 84, table.info.left_out_other = 83;
  EXPECT_NE(warnings_of({table})[0].find("nothing ran in this trace; none of its 84 events is of a category"),
            std::string::npos);
  table.info.issues = {{"damage repaired", 900, 1, true}, {"text that is no event", 1, 500, false}};
  EXPECT_NE(warnings_of({table})[0].find("none of its 84 events"), std::string::npos) << warnings_of({table})[0];
  table.info.issues.push_back({"start time too late", 70, 77, false});
  EXPECT_NE(warnings_of({table})[0].find("; 70 events were skipped: start time too late, first at byte 77"),
            std::string::npos);
}

TEST(TraceWarnings, RanksWithoutMarksOfStepsBesideThoseThatHaveThemAreTold) {
  const EventTable marked = trace_of(0, "ProfilerStep#3"), plain = trace_of(1, "forward"),
                   other = trace_of(2, "forward");
  EventTable empty;
  empty.info.file = "empty.json", empty.info.rank_source = TraceInfo::RankSource::kDistributedInfo;
  EXPECT_TRUE(warnings_of({plain, other}).empty());
  EXPECT_EQ(warnings_of({marked, empty}).size(), 1u);  // that nothing ran in it
  const auto one = warnings_of({marked, plain}), two = warnings_of({plain, other, marked});
  ASSERT_TRUE(one.size() == 1 && two.size() == 1);
  EXPECT_NE(one[0].find("rank1.json has no ProfilerStep marks"), std::string::npos) << one[0];
  EXPECT_NE(one[0].find("rank0.json has 1"), std::string::npos) << one[0];
  EXPECT_NE(two[0].find("rank1.json and 1 more have no ProfilerStep marks"), std::string::npos) << two[0];
}

TEST(TraceWarnings, TracesOfDifferentJobsAreTold) {
  std::vector<EventTable> sizes{trace_of(0, "ProfilerStep#3"), trace_of(1, "ProfilerStep#3")};
  sizes[0].info.world_size = 8, sizes[1].info.world_size = 4;
  std::vector<EventTable> rank{trace_of(0, "ProfilerStep#3"), trace_of(9, "ProfilerStep#3")};
  rank[0].info.world_size = rank[1].info.world_size = 8;
  const std::vector<EventTable> steps{trace_of(0, "ProfilerStep#3"), trace_of(1, "ProfilerStep#7")};
  for (const auto& tables : {sizes, rank, steps}) {
    const auto warnings = warnings_of(tables);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("different jobs"), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[0].find(".json"), std::string::npos) << warnings[0];
  }
}

TEST(TraceWarnings, RanksThatNobodyToldAreTold) {
  std::vector<EventTable> tables{trace_of(0, "ProfilerStep#3"), trace_of(1, "ProfilerStep#3")};
  for (EventTable& table : tables) table.info.rank_source = TraceInfo::RankSource::kUnknown;
  ASSERT_EQ(warnings_of(tables).size(), 1u);
  EXPECT_NE(warnings_of(tables)[0].find("do not say whose rank"), std::string::npos);
  tables.pop_back();
  EXPECT_TRUE(warnings_of(tables).empty());
}

}  // namespace
}  // namespace lumos

#include "lumos/trace/sets/split_ranks.h"

#include <gtest/gtest.h>

#include "lumos/trace/kineto/reader.h"
#include "lumos/trace/kineto/test_files.h"
#include "lumos/trace/table/launch_flows.h"

namespace lumos {
namespace {

/// How a tool that merges traces writes one rank's process id, device id and process name.
struct Places {
  std::string process;
  std::string device;
  std::string name;
};

void add(std::string& events, const std::string& event) { events += (events.empty() ? "" : ",\n") + event; }

/// One rank's events: a step in which each of `launches` kernels has a call; ids restart with every rank.
std::string rank_events(const Places& places, int launches, int shift_us) {
  std::string events;
  for (const std::string& pid : {places.process, places.device}) {
    if (places.name.empty()) break;
    add(events,
        fmt::format(R"({{"ph": "M", "name": "process_name", "pid": {}, "args": {{"name": "{}"}}}})", pid, places.name));
  }
  add(events, fmt::format(R"({{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": {}, "tid": 1,
      "ts": {}, "dur": 900}})",
                          places.process, shift_us));
  for (int i = 1; i <= launches; ++i) {
    add(events, fmt::format(R"({{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": {}, "tid": 1,
        "ts": {}, "dur": 5, "args": {{"correlation": {}}}}})",
                            places.process, shift_us + 20 * i, i));
    add(events, fmt::format(R"({{"ph": "X", "cat": "kernel", "name": "k{}", "pid": {}, "tid": 7, "ts": {}, "dur": 8,
        "args": {{"correlation": {}, "stream": 7, "bytes": {}, "Collective name": "c{}"}}}})",
                            launches, places.device, shift_us + 20 * i + 9, i, launches, launches));
  }
  return events;
}

std::string document(const std::string& events) { return "{\"traceEvents\": [" + events + "]}"; }

TraceSet merged(const std::vector<Places>& ranks, const std::string& name = "merged.json") {
  std::string events;
  for (size_t r = 0; r < ranks.size(); ++r)
    add(events, rank_events(ranks[r], 3 + static_cast<int>(r), static_cast<int>(r) * 2));
  TempFolder folder;
  auto set = read_traces({folder.write(name, document(events))}, {});
  EXPECT_TRUE(set) << set.error().message;
  return set ? std::move(*set) : TraceSet{};
}

std::vector<std::vector<Places>> merged_forms() {
  return {{{"4000", "0", ""}, {"4001", "1", ""}},                    // a node's files put together
          {{"1000400", "1000000", ""}, {"2000400", "2000000", ""}},  // ids shifted by rank
          {{R"("[TP00] 4000")", R"("[TP00] 0")", ""}, {R"("[TP01] 4000")", R"("[TP01] 0")", ""}},
          {{R"("rank 0")", R"("rank 0")", ""}, {R"("rank 1")", R"("rank 1")", ""}},  // one process for all of a rank
          {{"10", "11", "Rank 0"}, {"20", "21", "Rank 1"}}};                         // told by process names
}

// Each rank is what it is when it is read alone, whatever tool put them together.
TEST(SplitRanks, AMergedFileIsReadAsItsRanks) {
  for (const std::vector<Places>& form : merged_forms()) {
    const TraceSet set = merged(form);
    ASSERT_EQ(set.tables.size(), 2u) << form[0].process;
    for (size_t r = 0; r < 2; ++r) {
      const EventTable& t = set.tables[r];
      auto alone = read_trace_bytes(document(rank_events(form[r], 3 + static_cast<int>(r), static_cast<int>(r) * 2)),
                                    "alone", {});
      ASSERT_TRUE(alone);
      EXPECT_EQ(t.info.rank, static_cast<int32_t>(r));
      EXPECT_EQ(t.info.rank_source, TraceInfo::RankSource::kProcess);
      EXPECT_EQ(t.ts_ns, alone->ts_ns) << form[0].process;
      EXPECT_EQ(t.kind, alone->kind);
      EXPECT_EQ(t.lanes.size(), alone->lanes.size());
      EXPECT_EQ(launch_flows(t).size(), 3 + r);
      for (uint32_t row = 0; row < t.size(); ++row) {
        EXPECT_EQ(t.name_of(row), alone->name_of(row));
        EXPECT_EQ(t.text(t.lanes[t.lane[row]].pid_text), alone->text(alone->lanes[alone->lane[row]].pid_text));
        if (!is_gpu_work(t.kind[row])) continue;
        ASSERT_NE(t.collective_detail(row), nullptr);
        EXPECT_EQ(t.text(t.collective_detail(row)->collective), "c" + std::to_string(3 + r));
        EXPECT_EQ(t.gpu_detail(row)->bytes, static_cast<int64_t>(3 + r));
      }
    }
  }
}

TEST(SplitRanks, ANumberInTheNameIsTheRank) {
  const TraceSet set = merged({{"10", "11", "rank 12"}, {"20", "21", "rank 4"}});
  ASSERT_EQ(set.tables.size(), 2u);
  EXPECT_EQ(set.tables[0].info.rank, 4);
  EXPECT_EQ(set.tables[1].info.rank, 12);
}

// Each node merges its own ranks: files whose ranks have no numbers are counted on.
TEST(SplitRanks, SeveralMergedFilesAreOneJob) {
  TempFolder folder;
  std::vector<std::string> files;
  for (const char* name : {"node0.json", "node1.json"}) {
    files.push_back(folder.write(
        name, document(rank_events({"4000", "0", ""}, 3, 0) + "," + rank_events({"4001", "1", ""}, 3, 0))));
  }
  const auto set = read_traces(files, {});
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(set->tables.size(), 4u);
  for (size_t r = 0; r < 4; ++r) EXPECT_EQ(set->tables[r].info.rank, static_cast<int32_t>(r));
}

// Ranks of several nodes that all call their GPU 0: which row is whose is not said.
TEST(SplitRanks, ProcessesThatShareADeviceStayTogether) {
  EXPECT_EQ(merged({{"4000", "0", ""}, {"4001", "0", ""}}).tables.size(), 1u);
}

TEST(SplitRanks, OneRankWithSeveralDevicesStaysWhole) {
  const std::string events = rank_events({"4000", "0", ""}, 3, 0) + "," + rank_events({"4000", "1", ""}, 3, 0);
  auto table = read_trace_bytes(document(events), "one", {});
  ASSERT_TRUE(table);
  EXPECT_EQ(split_ranks(std::move(*table)).size(), 1u);
}

// What a file says and what was wrong with it is counted once.
TEST(SplitRanks, TheCountsOfTheFileStayTheSame) {
  std::string events = rank_events({"1", "0", ""}, 3, 0) + "," + rank_events({"2", "1", ""}, 4, 0) +
                       R"(,{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 0, "dur": 0})";
  auto table = read_trace_bytes(document(events), "merged", {});
  ASSERT_TRUE(table);
  const TraceInfo whole = table->info;
  uint64_t events_of_parts = 0, skipped = 0, bytes = 0;
  for (const EventTable& part : split_ranks(std::move(*table))) {
    events_of_parts += part.info.events, skipped += part.info.skipped(), bytes += part.info.decoded_bytes;
  }
  EXPECT_EQ(events_of_parts, whole.events);
  EXPECT_EQ(skipped, 1u);
  EXPECT_EQ(bytes, whole.decoded_bytes);
}

}  // namespace
}  // namespace lumos

// Folders, ranks and failures: what read_traces makes of several files.
#include <gtest/gtest.h>

#include "lumos/trace/kineto/reader.h"
#include "lumos/trace/kineto/test_files.h"

namespace lumos {
namespace {

const char* const kTrace =
    R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "n", "pid": 1, "tid": 2, "ts": 3, "dur": 4}]})";

std::string trace_of_rank(int rank) {
  return fmt::format(R"({{"distributedInfo": {{"rank": {}}}, "traceEvents": []}})", rank);
}

std::string message_of(const std::vector<std::string>& paths, ReadOptions options = {}) {
  auto set = read_traces(paths, options);
  return set ? "" : set.error().message;
}

TEST(TraceSet, AFolderGivesItsTracesAndNotWhatLiesBeside) {
  TraceFolder folder;
  folder.write("rank10.pt.trace.json.gz", kTrace);
  folder.write("rank2.pt.trace.json", kTrace);
  folder.write("config.json", R"({"model": {"layers": 4}})");
  folder.write("table.json", R"([{"a": 1}])");
  folder.write("truth.json.gz", R"({"iterations": [1, 2]})");
  folder.write("notes.txt", "hello");
  folder.write("more/rank3.json", kTrace);
  auto set = read_traces({folder.path("")}, {});
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(set->tables.size(), 2u);
  EXPECT_TRUE(set->failures.empty());
  EXPECT_EQ(set->tables[0].info.rank, 2);
  EXPECT_EQ(set->tables[1].info.rank, 10);
  EXPECT_EQ(set->tables[1].info.rank_source, TraceInfo::RankSource::kFileName);
}

TEST(TraceSet, FilesThatSayNoRankAreNumberedAsPeopleCount) {
  TraceFolder folder;
  for (int i = 0; i < 12; ++i) folder.write("run-TP-" + std::to_string(i) + "-DP-007.json", kTrace);
  auto set = read_traces({folder.path("")}, {});
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(set->tables.size(), 12u);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(set->tables[i].info.rank, i);
    EXPECT_NE(set->tables[i].info.file.find("TP-" + std::to_string(i) + "-"), std::string::npos);
  }
}

TEST(TraceSet, ATraceWhoseEventsComeLateCounts) {
  TraceFolder folder;
  folder.write("a.json", R"({"metadata": [")" + std::string(3'000'000, 'x') + R"("], "traceEvents": []})");
  auto found = find_traces({folder.path("")});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 1u);
}

TEST(TraceSet, TheFileItselfKnowsItsRankBest) {
  TraceFolder folder;
  folder.write("rank5.json", trace_of_rank(1));
  folder.write("rank6.json", kTrace);
  ReadOptions options;
  auto set = read_traces({folder.path("")}, options);
  ASSERT_TRUE(set);
  EXPECT_EQ(set->tables[0].info.rank, 1);
  EXPECT_EQ(set->tables[1].info.rank, 6);
  options.rank_regex = "rank(\\d)\\.json";
  set = read_traces({folder.path("")}, options);
  ASSERT_TRUE(set);
  EXPECT_EQ(set->tables[0].info.rank, 5);
  EXPECT_EQ(set->tables[0].info.rank_source, TraceInfo::RankSource::kRegex);
}

TEST(TraceSet, RanksThatNobodyTellsAreNumberedBehindTheOthers) {
  TraceFolder folder;
  folder.write("b.json", kTrace);
  folder.write("a.json", kTrace);
  folder.write("rank4.json", kTrace);
  auto set = read_traces({folder.path("")}, {});
  ASSERT_TRUE(set);
  ASSERT_EQ(set->tables.size(), 3u);
  EXPECT_EQ(set->tables[0].info.rank, 4);
  EXPECT_EQ(set->tables[1].info.rank, 5);
  EXPECT_EQ(set->tables[1].info.file, folder.path("a.json"));
  EXPECT_EQ(set->tables[1].info.rank_source, TraceInfo::RankSource::kUnknown);
  auto alone = read_trace(folder.path("a.json"), {});
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->info.rank, -1);
}

TEST(TraceSet, EveryFailureIsOneClearMessage) {
  TraceFolder folder;
  folder.write("same/a.json", trace_of_rank(3));
  folder.write("same/b.json", trace_of_rank(3));
  folder.write("none/config.json", "{}");
  folder.write("empty/notes.txt", "");
  EXPECT_NE(message_of({folder.path("same")}).find("both say rank 3"), std::string::npos);
  EXPECT_NE(message_of({folder.path("none")}).find("no traceEvents"), std::string::npos);
  EXPECT_NE(message_of({folder.path("empty")}).find("no trace in this folder"), std::string::npos);
  EXPECT_NE(message_of({folder.path("missing.json")}).find("no such file"), std::string::npos);
  EXPECT_NE(message_of({folder.path("none/config.json")}).find("not a Kineto trace"), std::string::npos);
  EXPECT_NE(message_of({}).find("no trace given"), std::string::npos);
  ReadOptions bad;
  bad.rank_regex = "(";
  auto set = read_traces({folder.path("same")}, bad);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().kind, ErrorKind::kUsage);
}

TEST(TraceSet, OneUnreadableFileLosesNothingElse) {
  TraceFolder folder;
  folder.write("rank0.json", kTrace);
  folder.write("rank1.json", "");
  auto set = read_traces({folder.path("")}, {});
  ASSERT_TRUE(set);
  EXPECT_EQ(set->tables.size(), 1u);
  ASSERT_EQ(set->failures.size(), 1u);
  EXPECT_EQ(set->failures[0].file, folder.path("rank1.json"));
}

TEST(TraceSet, ReadStrictlyOneUnreadableFileFailsAll) {
  ReadOptions strict;
  strict.strict = true;
  for (const std::string text : {"", "[1, 2]", "<html>", R"({"traceEvents": [{"ph":"X","cat":"kernel","name":"cut)"}) {
    TraceFolder folder;
    folder.write("rank0.json", kTrace);
    EXPECT_TRUE(read_traces({folder.path("rank0.json")}, strict));
    const std::string damaged = folder.write("rank1.json", text);
    const auto set = read_traces({folder.path("rank0.json"), damaged}, strict);
    ASSERT_FALSE(set) << text;
    EXPECT_EQ(set.error().kind, ErrorKind::kUnreadable);
    EXPECT_NE(set.error().message.find(damaged), std::string::npos) << set.error().message;
  }
}

TEST(TraceSet, AFileNamedTwiceIsReadOnce) {
  TraceFolder folder;
  std::string path = folder.write("rank0.json", kTrace);
  auto set = read_traces({path, path, folder.path("")}, {});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->tables.size(), 1u);
}

}  // namespace
}  // namespace lumos

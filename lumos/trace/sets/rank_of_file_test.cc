#include "lumos/trace/sets/rank_of_file.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(RankOfFile, IsReadFromTheNamesPeopleGive) {
  EXPECT_EQ(rank_of_file_name("rank12.json.gz"), 12);
  EXPECT_EQ(rank_of_file_name("/a/rank-3.pt.trace.json"), 3);
  EXPECT_EQ(rank_of_file_name("trace_Rank_7_step_20.json"), 7);
  EXPECT_EQ(rank_of_file_name("rank007.json"), 7);
  EXPECT_EQ(rank_of_file_name("job.12.pt.trace.json.gz"), 12);
  EXPECT_EQ(rank_of_file_name("/traces/5.json"), 5);
  EXPECT_EQ(rank_of_file_name("/traces/rank4/trace.json"), 4);
  EXPECT_EQ(rank_of_file_name("pgrank1_rank2.json"), 2);
}

TEST(RankOfFile, HostsProcessesAndTimesAreNoRanks) {
  EXPECT_EQ(rank_of_file_name("node-17_26835.1669783687389.pt.trace.json.gz"), std::nullopt);
  EXPECT_EQ(rank_of_file_name("node17.1669783687389.pt.trace.json"), std::nullopt);
  EXPECT_EQ(rank_of_file_name("trace.json"), std::nullopt);
  EXPECT_EQ(rank_of_file_name("ranking.json"), std::nullopt);
  EXPECT_EQ(rank_of_file_name("/rank4/old/trace.json"), std::nullopt);
  EXPECT_EQ(rank_of_file_name(""), std::nullopt);
}

TEST(RankRegex, CapturesTheRankAnywhereInThePath) {
  auto pattern = compile_rank_regex("gpu(\\d+)/");
  ASSERT_TRUE(pattern);
  EXPECT_EQ(rank_by_regex(*pattern, "/a/gpu6/t.json"), 6);
  EXPECT_EQ(rank_by_regex(*pattern, "/a/t.json"), std::nullopt);
}

TEST(RankRegex, ABadOneIsWrongUsage) {
  for (const char* bad : {"rank(", "rank", "[a-"}) {
    auto pattern = compile_rank_regex(bad);
    ASSERT_FALSE(pattern) << bad;
    EXPECT_EQ(pattern.error().kind, ErrorKind::kUsage);
  }
}

}  // namespace
}  // namespace lumos

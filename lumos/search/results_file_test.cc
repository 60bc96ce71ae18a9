#include "lumos/search/results_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lumos/base/file.h"
#include "lumos/base/test_folder.h"
#include "lumos/search/test_space.h"

namespace lumos {
namespace {

class ResultsFileTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }

 private:
  const TempFolder folder_;
};

Outcome outcome(std::string id, double step_ms) {
  Outcome result;
  result.id = std::move(id);
  result.num_gpus = 512;
  result.step_ms = step_ms;
  result.tokens_per_s = 1e6 / 3;
  result.peak_gib = 71.3;
  return result;
}

std::string line(std::string id, double step_ms) {
  return result_line(outcome(std::move(id), step_ms), search_test_job(), {"tensor_model_parallel_size"});
}

TEST_F(ResultsFileTest, FiguresComeBackToTheLastDigit) {
  const Outcome before = outcome("0123456789abcdef", 1000.0 / 7);
  const Result<Outcome> after = parse_result_line(line(before.id, before.step_ms));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(*after, before);
}

TEST_F(ResultsFileTest, ADamagedLastLineIsCutOffAndTheFileGoesOn) {
  for (const std::string damage : {"{\"id\": \"b", "{\"id\": \"b\n"}) {
    ASSERT_TRUE(write_file(path("r"), line("a", 1) + "\n" + damage));
    ResultsFile file = ResultsFile::open(path("r"), path("r")).value();
    EXPECT_TRUE(file.dropped_last());
    EXPECT_EQ(file.known().size(), 1u);
    ASSERT_TRUE(file.append({line("b", 2)}));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(read_file(path("r")).value(), line("a", 1) + "\n" + line("b", 2) + "\n");
  }
}

TEST_F(ResultsFileTest, AFileOfSomethingElseIsLeftAlone) {
  for (const std::string text : {"my notes", "my notes\n", R"({"a":1})", "{\"a\":1}\n", "x,y\n1,2\n", "1", "[]"}) {
    ASSERT_TRUE(write_file(path("r"), text));
    const auto file = ResultsFile::open(path("r"), path("r"));
    ASSERT_FALSE(file.has_value()) << text;
    EXPECT_EQ(file.error().kind, ErrorKind::kUnreadable);
    EXPECT_EQ(read_file(path("r")).value(), text);
  }
}

TEST_F(ResultsFileTest, DamageElsewhereIsNotCutOff) {
  const std::string content = "some other file\n" + line("a", 1) + "\n";
  ASSERT_TRUE(write_file(path("r"), content));
  const Result<ResultsFile> file = ResultsFile::open(path("r"), path("r"));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::kUnreadable);
  EXPECT_EQ(read_file(path("r")).value(), content);
}

TEST_F(ResultsFileTest, APartGetsItsNameWhenItIsWhole) {
  ResultsFile file = ResultsFile::open(path("r.part"), path("r")).value();
  ASSERT_TRUE(file.append({line("a", 1)}));
  EXPECT_FALSE(std::filesystem::exists(path("r")));
  ASSERT_TRUE(file.finish());
  EXPECT_TRUE(std::filesystem::exists(path("r")));
  EXPECT_EQ(ResultsFile::open(path("r.part"), path("r"))->known().size(), 1u);
}

TEST_F(ResultsFileTest, OnlyOneSearchWritesAtATime) {
  ResultsFile file = ResultsFile::open(path("r"), path("r")).value();
  ASSERT_TRUE(file.append({line("a", 1)}));
  const Result<ResultsFile> second = ResultsFile::open(path("r"), path("r"));
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another search is writing"), std::string::npos) << second.error().message;
  ASSERT_TRUE(file.append({line("b", 2)}));
  ASSERT_TRUE(file.finish());
  EXPECT_EQ(ResultsFile::open(path("r"), path("r"))->known().size(), 2u);
}

TEST_F(ResultsFileTest, PartsJoinInAnyOrderToTheSameText) {
  ASSERT_TRUE(write_file(path("one"), line("c", 1) + "\n" + line("a", 2) + "\n"));
  ASSERT_TRUE(write_file(path("two"), line("b", 3) + "\n" + line("a", 2) + "\n{\"id"));
  std::vector<std::string> dropped;
  const std::string merged = merge_results({path("one"), path("two")}, &dropped).value();
  EXPECT_EQ(merged, line("a", 2) + "\n" + line("b", 3) + "\n" + line("c", 1) + "\n");
  EXPECT_EQ(merge_results({path("two"), path("one")}, &dropped).value(), merged);
  EXPECT_EQ(dropped, (std::vector<std::string>{path("two"), path("two")}));
}

TEST_F(ResultsFileTest, PartsThatContradictAreAnError) {
  ASSERT_TRUE(write_file(path("one"), line("a", 1) + "\n"));
  ASSERT_TRUE(write_file(path("two"), line("a", 2) + "\n"));
  std::vector<std::string> dropped;
  EXPECT_FALSE(merge_results({path("one"), path("two")}, &dropped));
}

}  // namespace
}  // namespace lumos

#include "lumos/report/files/csv_export.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumos/base/file.h"
#include "lumos/base/test_folder.h"
#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  const Result<std::string> text = read_file(path);
  EXPECT_TRUE(text);
  std::vector<std::string> lines;
  for (size_t at = 0, end; text && (end = text->find('\n', at)) != std::string::npos; at = end + 1) {
    lines.push_back(text->substr(at, end - at));
  }
  return lines;
}

TEST(CsvExport, HasALineForEveryTaskStepAndCollective) {
  const TempFolder folder;
  const ExecGraph graph = small_step();
  const auto files = write_csv_files(graph, simulate(graph), folder.path("deep"));
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->size(), 4u);
  EXPECT_EQ(lines_of((*files)[0]).size(), 2u);
  const std::vector<std::string> breakdown = lines_of((*files)[1]);
  ASSERT_EQ(breakdown.size(), 3u);
  EXPECT_TRUE(breakdown[2].find(",replayed,") != std::string::npos) << breakdown[2];
  EXPECT_EQ(lines_of((*files)[2]).size(), 2u);
  const std::vector<std::string> tasks = lines_of((*files)[3]);
  EXPECT_EQ(tasks.size(), graph.size() + 1);
  const auto commas = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  for (const std::string& line : tasks) EXPECT_EQ(commas(line), commas(tasks[0])) << line;
}

TEST(CsvExport, FailsWhereNoFolderCanBe) {
  const ExecGraph graph = small_step();
  const auto files = write_csv_files(graph, simulate(graph), "/dev/null/folder");
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().kind, ErrorKind::kFailed);
}

TEST(CsvExport, QuotesFieldsThatNeedIt) {
  EXPECT_EQ(csv_field("aten::add"), "aten::add");
  EXPECT_EQ(csv_field("f(a, b)"), "\"f(a, b)\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
}

}  // namespace
}  // namespace lumos

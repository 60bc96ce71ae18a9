#include "lumos/report/files/trace_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lumos/base/test_folder.h"
#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"
#include "lumos/trace/kineto/reader.h"

namespace lumos {
namespace {

class TraceFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }

 private:
  const TempFolder folder_;
};

TEST_F(TraceFiles, ReadsBackAsTheSimulatedStep) {
  const ExecGraph graph = small_step();
  const auto files = write_replayed_trace(graph, simulate(graph), path("out.json.gz"));
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(*files, std::vector<std::string>{path("out.json.gz")});
  const Result<EventTable> table = read_trace(path("out.json.gz"), {});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->size(), 7u);
  for (size_t row = 0; row < table->size(); ++row) {
    if (table->name_of(row) == "cudaDeviceSynchronize") {
      EXPECT_EQ(table->end_ns(row), 1400);
    }
  }
}

TEST_F(TraceFiles, SeveralRanksGetAFileEachOrOneForPerfetto) {
  ExecGraph graph = small_step();
  graph.ranks.push_back(graph.ranks[0]);
  graph.ranks[1].rank = 3;
  const Timeline timeline = simulate(graph);
  const auto chrome = write_replayed_trace(graph, timeline, path("out.json"));
  ASSERT_TRUE(chrome);
  EXPECT_EQ(*chrome, (std::vector<std::string>{path("out-rank0.json"), path("out-rank3.json")}));
  const auto perfetto = write_replayed_trace(graph, timeline, path("out.pftrace"));
  ASSERT_TRUE(perfetto);
  EXPECT_EQ(perfetto->size(), 1u);
  EXPECT_GT(std::filesystem::file_size(path("out.pftrace")), 0u);
}

}  // namespace
}  // namespace lumos

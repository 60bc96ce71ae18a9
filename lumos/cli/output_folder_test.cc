#include "lumos/cli/output_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lumos/base/test_folder.h"
#include "lumos/cli/test_command.h"

namespace lumos {
namespace {

class OutputFolder : public ::testing::Test {
 protected:
  void touch(const std::string& name) const { outer_.write("traces/" + name, "{}"); }

  const TempFolder outer_;
  const std::string folder_ = outer_.path("traces");
};

TEST_F(OutputFolder, IsMadeOrTakenWhenItHoldsNoTraces) {
  EXPECT_TRUE(prepare_trace_folder(folder_, {"rank0.json.gz"}, "job.toml", false));
  touch("notes.txt");
  EXPECT_TRUE(prepare_trace_folder(folder_, {"rank0.json.gz"}, "job.toml", false));
}

TEST_F(OutputFolder, WithOtherTracesIsRefusedUnlessForced) {
  std::filesystem::create_directories(folder_);
  for (const char* name : {"rank7.json.gz", "job.toml", "rank0.json.gz"}) touch(name);
  const auto refused = prepare_trace_folder(folder_, {"rank0.json.gz"}, "job.toml", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_NE(refused.error().message.find("rank7.json.gz"), std::string::npos);
  EXPECT_EQ(*prepare_trace_folder(folder_, {"rank0.json.gz"}, "job.toml", true),
            std::vector<std::string>{"rank7.json.gz"});
}

TEST_F(OutputFolder, ItsOwnTracesMayBeWrittenAgainButNoMeasuredOnes) {
  std::filesystem::create_directories(folder_);
  touch("rank0.json.gz");
  EXPECT_FALSE(prepare_trace_folder(folder_, {"rank0.json.gz"}, "job.toml", false));
  touch("job.toml");
  EXPECT_TRUE(prepare_trace_folder(folder_, {"rank0.json.gz"}, "job.toml", false));
}

TEST_F(OutputFolder, AFileInItsPlaceIsAnError) {
  std::ofstream(folder_) << "x";
  EXPECT_EQ(prepare_trace_folder(folder_, {}, "job.toml", false).error().kind, ErrorKind::kFailed);
}

}  // namespace
}  // namespace lumos

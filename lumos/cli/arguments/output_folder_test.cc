#include "lumos/cli/arguments/output_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lumos/base/test_data.h"
#include "lumos/base/test_folder.h"
#include "lumos/cli/test_command.h"

namespace lumos {
namespace {

class OutputFolder : public ::testing::Test {
 protected:
  void touch(const std::string& name) const { outer_.write("traces/" + name, "{}"); }

  const FolderMark kMark{"job.toml", "{}"};

  const TempFolder outer_;
  const std::string folder_ = outer_.path("traces");
};

TEST_F(OutputFolder, IsMadeOrTakenWhenItHoldsNoTraces) {
  EXPECT_TRUE(prepare_trace_folder(folder_, {"rank0.json.gz"}, kMark, false));
  touch("notes.txt");
  EXPECT_TRUE(prepare_trace_folder(folder_, {"rank0.json.gz"}, kMark, false));
}

TEST_F(OutputFolder, WithOtherTracesIsRefusedUnlessForced) {
  std::filesystem::create_directories(folder_);
  for (const char* name : {"rank7.json.gz", "job.toml", "rank0.json.gz"}) touch(name);
  const auto refused = prepare_trace_folder(folder_, {"rank0.json.gz"}, kMark, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_NE(refused.error().message.find("rank7.json.gz"), std::string::npos);
  EXPECT_EQ(*prepare_trace_folder(folder_, {"rank0.json.gz"}, kMark, true), std::vector<std::string>{"rank7.json.gz"});
}

TEST_F(OutputFolder, ItsOwnTracesMayBeWrittenAgainButNoMeasuredOnes) {
  std::filesystem::create_directories(folder_);
  touch("rank0.json.gz");
  EXPECT_FALSE(prepare_trace_folder(folder_, {"rank0.json.gz"}, kMark, false));
  touch("job.toml");
  EXPECT_TRUE(prepare_trace_folder(folder_, {"rank0.json.gz"}, kMark, false));
}

TEST_F(OutputFolder, TracesOfAnotherJobAreRefusedUnlessForced) {
  std::filesystem::create_directories(folder_);
  for (const char* name : {"job.toml", "rank0.json.gz"}) touch(name);
  const FolderMark other{"job.toml", "num_layers = 3\n"};
  const auto refused = prepare_trace_folder(folder_, {"rank0.json.gz"}, other, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_NE(refused.error().message.find("another job"), std::string::npos);
  EXPECT_TRUE(prepare_trace_folder(folder_, {"rank0.json.gz"}, other, true)->empty());
}

TEST_F(OutputFolder, SynthWritesOneJobAgainButNoOther) {
  const std::string configs = source_path("configs/");
  const std::vector<std::string> words = {"synth",
                                          "--job",
                                          configs + "jobs/demo.toml",
                                          "--cluster",
                                          configs + "clusters/dgx-h100.toml",
                                          "--out",
                                          folder_,
                                          "--steps",
                                          "1",
                                          "--ranks",
                                          "0"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run_command(more);
  };
  ASSERT_EQ(with({}).exit, 0);
  EXPECT_EQ(with({}).exit, 0);
  EXPECT_EQ(with({"--seed", "2", "--jitter", "0.1"}).exit, 0);
  EXPECT_EQ(with({"--set", "num_microbatches=4"}).exit, 2);
  EXPECT_EQ(with({}).exit, 0);  // The refused one left job.toml as it was.
  EXPECT_EQ(with({"--set", "num_microbatches=4", "--force"}).exit, 0);
  EXPECT_EQ(with({}).exit, 2);
}

TEST_F(OutputFolder, AFileInItsPlaceIsAnError) {
  std::ofstream(folder_) << "x";
  EXPECT_EQ(prepare_trace_folder(folder_, {}, kMark, false).error().kind, ErrorKind::kFailed);
}

}  // namespace
}  // namespace lumos

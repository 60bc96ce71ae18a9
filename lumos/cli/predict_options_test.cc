// The options of `lumos predict` and of every command's help: which go together, how they are spelled, and what they
// say.
#include <gtest/gtest.h>

#include <sstream>

#include "lumos/base/test_data.h"
#include "lumos/base/test_folder.h"
#include "lumos/cli/test_command.h"
#include "lumos/report/text_table.h"

namespace lumos {
namespace {

std::string config(const std::string& name) { return source_path("configs/") + name; }

class PredictOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    demo_ = folder_.path("demo.json");
    ASSERT_EQ(run_command({"demo", "--out", demo_}).exit, 0);
  }

  /// Ends with wrong usage (or `exit`) and says all of `parts`.
  void refuse(const std::vector<std::string>& words, const std::vector<std::string>& parts, int exit = 2) const {
    const CommandRun run = run_command(words);
    std::string line;
    for (const std::string& word : words) line += word + " ";
    EXPECT_EQ(run.exit, exit) << line << run.error;
    for (const std::string& part : parts) EXPECT_NE(run.error.find(part), std::string::npos) << line << run.error;
  }

  /// A small job over two stages, its traces in a folder of the test.
  std::string synthesized() const {
    const std::string out = folder_.path("traces");
    const CommandRun run =
        run_command({"synth", "--job", config("jobs/demo.toml"), "--cluster", config("clusters/dgx-h100.toml"), "--set",
                     "num_layers=4", "--set", "num_microbatches=2", "--out", out});
    EXPECT_EQ(run.exit, 0) << run.error;
    return out;
  }

  const TempFolder folder_;
  std::string demo_;
};

TEST_F(PredictOptionsTest, ThatBelongToAnotherAreRefusedWithoutIt) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> idle = {
      {{"--plain"}, "--job"},
      {{"--seeds", "3"}, "--job"},
      {{"--seeds", "0"}, "--job"},
      {{"--ignore", "shapes"}, "--job"},
      {{"--samples", "10"}, "--jitter"},
      {{"--seed", "5"}, "--jitter"},
      {{"--gpus-per-node", "3"}, "--bandwidth"},
      {{"--batch-size", "4"}, "--scale-batch"},
      {{"--from-cluster", config("clusters/dgx-h100.toml")}, "--cluster"}};
  for (const auto& [more, owner] : idle) {
    std::vector<std::string> words = {"predict", demo_, "--scale", "host=1"};
    words.insert(words.end(), more.begin(), more.end());
    refuse(words, {more[0], owner});
  }
  EXPECT_EQ(run_command({"predict", demo_, "--jitter", "0.1", "--samples", "3", "--seed", "5"}).exit, 0);
}

TEST_F(PredictOptionsTest, SeveralValuesAfterOneNameAreToldToRepeatIt) {
  refuse({"predict", demo_, "--set", "a=1", "b=2"}, {"--set", "repeat", "--set b=2"});
  refuse({"predict", demo_, "--set=a=1", "b=2"}, {"--set", "repeat", "--set b=2"});
  refuse({"predict", demo_, "--scale", "host=1", "comm:.*=2"}, {"--scale", "repeat", "--scale comm:.*=2"});
  const std::vector<std::string> estimate = {
      "estimate", "--job", config("jobs/demo.toml"), "--cluster", config("clusters/dgx-h100.toml"), "--set"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), estimate.begin(), estimate.end());
    return more;
  };
  refuse(with({"num_layers=4", "num_microbatches=2"}), {"repeat", "--set num_microbatches=2"});
  refuse(with({"num_layers=4,num_microbatches=2"}), {"--set num_layers=4 --set num_microbatches=2"});
  refuse(with({"num_layers="}), {"--set num_layers=", "empty"});
  EXPECT_EQ(run_command(with({"num_layers=4"})).exit, 0);
}

TEST_F(PredictOptionsTest, JobsThatNobodyCouldSimulateAreRefusedAndOthersSayWhereTheNetworkIsFrom) {
  const std::string traces = synthesized(), job = traces + "/job.toml";
  const auto predict = [&](const std::string& setting) {
    return std::vector<std::string>{"predict", traces, "--job", job, "--seeds", "1", "--set", setting};
  };
  refuse(predict("num_layers=1000000"), {"num_layers 1000000", "tasks"});
  refuse(predict("num_microbatches=1000000"), {"num_microbatches 1000000", "tasks"});
  refuse(predict("num_layers="), {"empty"});
  std::vector<std::string> words = predict("num_layers=8");
  const std::string one_node = run_command(words).out;
  EXPECT_EQ(one_node.find("no traced transfer leaves"), std::string::npos) << one_node;
  words = predict("data_parallel_size=8");
  const std::string two_nodes = run_command(words).out;
  EXPECT_NE(two_nodes.find("no traced transfer leaves"), std::string::npos) << two_nodes;
  words.insert(words.end(), {"--cluster", config("clusters/dgx-h100.toml")});
  const CommandRun given = run_command(words);
  EXPECT_EQ(given.exit, 0) << given.error;
  EXPECT_EQ(given.out.find("no traced transfer leaves"), std::string::npos) << given.out;
}

// Before anything is read: the traces of these lines do not exist.
TEST_F(PredictOptionsTest, OutputsThatCannotBeWrittenAreToldFirst) {
  const std::string absent = folder_.path("absent.json");
  for (const std::string& out : {folder_.path("none/a.json"), folder_.path("")}) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"replay", absent},
                                                  {"report", absent},
                                                  {"predict", absent, "--scale", "host=1"},
                                                  {"convert", absent},
                                                  {"link", absent},
                                                  {"merge", absent},
                                                  {"demo"}}) {
      std::vector<std::string> line = words;
      line.insert(line.end(), {"--out", out});
      refuse(line, {out, "cannot write"}, 1);
    }
  }
}

TEST_F(PredictOptionsTest, FoldersAreNoJobs) {
  refuse({"estimate", "--job", folder_.path(""), "--cluster", config("clusters/dgx-h100.toml")}, {"folder"}, 3);
  refuse({"replay", demo_, "--steps", "99"}, {"--steps 99:"});
}

TEST_F(PredictOptionsTest, ListsOfDependenciesFitEightyColumns) {
  for (const char* question : {"--unexplained", "--dependencies"}) {
    std::istringstream lines(run_command({"inspect", demo_, question}).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), kTextWidth) << line;
  }
}

TEST(Help, OfEveryCommandFitsEightyColumns) {
  for (const Command& command : make_commands()) {
    std::istringstream lines(run_command({command.name, "--help"}).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), kTextWidth) << line;
  }
}

}  // namespace
}  // namespace lumos

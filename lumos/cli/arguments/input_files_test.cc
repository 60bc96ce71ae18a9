#include "lumos/cli/arguments/input_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "lumos/base/file.h"
#include "lumos/base/test_folder.h"
#include "lumos/cli/test_command.h"

namespace lumos {
namespace {

constexpr int kWrongUsage = 2;

/// Two ranks in a folder, whose names are those that two ranks of "x.json" get.
class InputFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(path("job"));
    ASSERT_EQ(run_command({"demo", "--out", path("job/x-rank0.json")}).exit, 0);
    std::string text = *read_file(path("job/x-rank0.json"));
    const std::string rank = "\"rank\": 0";
    text.replace(text.find(rank), rank.size(), "\"rank\": 1");
    folder_.write("job/x-rank1.json", text);
  }

  std::string path(const std::string& name) const { return folder_.path(name); }

  /// The commands that take a trace and an output, with both given.
  static std::vector<std::vector<std::string>> writing(const std::string& in, const std::string& out) {
    return {{"replay", in, "--out", out},
            {"predict", in, "--scale", "host=1", "--out", out},
            {"convert", in, "--out", out},
            {"convert", in, "--replayed", "--out", out},
            {"critical-path", in, "--overlay", out},
            {"report", in, "--no-gains", "--out", out},
            {"link", in, "--out", out}};
  }

  void expect_refused(const std::vector<std::string>& words, const std::string& file) const {
    const std::string before = *read_file(file);
    const CommandRun run = run_command(words);
    EXPECT_EQ(run.exit, kWrongUsage) << words[0] << ": " << run.error;
    EXPECT_NE(run.error.find("would replace"), std::string::npos) << words[0] << ": " << run.error;
    EXPECT_NE(run.error.find(words.back()), std::string::npos) << run.error;
    EXPECT_EQ(*read_file(file), before) << words[0];
  }

  const TempFolder folder_;
};

TEST_F(InputFiles, AreNotWrittenOverByAnyCommand) {
  const std::string trace = path("job/x-rank0.json");
  for (const auto& words : writing(trace, trace)) expect_refused(words, trace);
}

TEST_F(InputFiles, AreKnownUnderOtherNames) {
  const std::string trace = path("job/x-rank0.json"), link = path("link.json");
  std::filesystem::create_symlink(trace, link);
  for (const auto& words : writing(trace, link)) expect_refused(words, trace);
  for (const auto& words : writing(link, trace)) expect_refused(words, trace);
  for (const auto& words : writing(trace, path("job/../job/x-rank0.json"))) expect_refused(words, trace);
}

TEST_F(InputFiles, AreKnownWhereTheirFolderIsNamed) {
  for (const auto& words : writing(path("job"), path("job/x-rank1.json"))) {
    expect_refused(words, path("job/x-rank1.json"));
  }
}

TEST_F(InputFiles, AreNotReplacedByTheFilesPerRank) {
  for (const auto& words : writing(path("job"), path("job/x.json"))) {
    if (words[0] == "replay" || words[0] == "predict" || words[0] == "convert") {
      expect_refused(words, path("job/x-rank0.json"));
    }
  }
  EXPECT_EQ(run_command({"convert", path("job"), "--out", path("x.json")}).exit, 0);
  EXPECT_EQ(run_command({"convert", path("job/x-rank0.json"), "--out", path("job/x.json")}).exit, 0);
}

// Whatever option reads a file: a table, a job, a cluster, a prediction.
TEST_F(InputFiles, OfEveryOptionAreKnown) {
  const std::string file = folder_.write("file", "kept");
  std::set<std::string> tried;
  for (const Command& command : make_commands()) {
    if (command.name == "merge") continue;
    for (const Option& output : command.options) {
      if (!names_output(output)) continue;
      for (const Option& input : command.options) {
        if (input.completion != Completion::kFile || names_output(input) || input.name == "--results") continue;
        if (input.value_name == "DIR") continue;  // written to
        std::vector<std::string> words{command.name};
        for (const Option& needed : command.options) {
          if (needed.required && needed.name != input.name && needed.name != output.name) {
            if (!needed.is_positional()) words.push_back(needed.name);
            words.push_back(path("absent"));
          }
        }
        if (!input.is_positional()) words.push_back(input.name);
        words.push_back(file);
        words.insert(words.end(), {output.name, file});
        expect_refused(words, file);
        tried.insert(command.name + input.name);
      }
    }
  }
  EXPECT_GE(tried.size(), 15u);
  EXPECT_TRUE(tried.contains("predict--kernel-times") && tried.contains("search--configs"));
}

TEST_F(InputFiles, OfAMergeMayBeTheJoinedFile) {
  const std::string all = path("all.lumos");
  ASSERT_EQ(run_command({"link", path("job"), "--out", all}).exit, 0);
  EXPECT_NE(run_command({"merge", all, "--out", all}).exit, kWrongUsage);
}

}  // namespace
}  // namespace lumos

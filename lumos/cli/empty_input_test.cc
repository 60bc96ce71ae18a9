// What every command makes of traces that hold little or nothing: one rule for all of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "lumos/base/test_folder.h"
#include "lumos/cli/test_command.h"
#include "lumos/trace/write/chrome_writer.h"
#include "lumos/trace/write/demo.h"

namespace lumos {
namespace {

class EmptyInput : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run_command({"demo", "--out", path("demo.json")}).exit, 0);
    write("empty.json", R"({"traceEvents": []})");
    write("array.json", "[]");
    write(
        "python.json",
        R"({"traceEvents": [{"ph":"X","cat":"python_function","name":"a.py(1): f","ts":1,"dur":5,"pid":1,"tid":1}]})");
    write("cpu.json",
          R"({"traceEvents": [{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":5,"pid":1,"tid":1}]})");
    const CommandRun predicted = run_command({"predict", path("demo.json"), "--scale", "host=0.5", "--json"});
    ASSERT_EQ(predicted.exit, 0) << predicted.error;
    write("prediction.json", predicted.out);
  }

  std::string path(const std::string& name) const { return folder_.path(name); }
  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }

  /// Commands that show or convert what is in a trace, each with what else it needs.
  std::vector<std::vector<std::string>> describing(const std::string& trace) const {
    return {{"inspect", trace},
            {"inspect", trace, "--json"},
            {"link", trace},
            {"convert", trace, "--out", path("copy.json")},
            {"export", trace, "--csv", path("csv")}};
  }

  /// Commands that answer about a step.
  std::vector<std::vector<std::string>> asking(const std::string& trace) const {
    return {{"replay", trace},
            {"replay", trace, "--json"},
            {"report", trace, "--out", path("report.html")},
            {"critical-path", trace},
            {"diff", trace, path("demo.json")},
            {"diff", path("demo.json"), trace},
            {"stragglers", trace},
            {"predict", trace, "--scale", "host=0.5"},
            {"predict", trace, "--jitter", "0.1"},
            {"validate", path("prediction.json"), trace},
            {"gains", trace}};
  }

  const TempFolder folder_;
};

TEST_F(EmptyInput, EveryCommandThatReadsTracesIsInOneOfTheLists) {
  std::set<std::string> listed = {"search"};  // asks about a job, and says what it lacks in its own words
  for (const auto& words : describing("x")) listed.insert(words[0]);
  for (const auto& words : asking("x")) listed.insert(words[0]);
  for (const Command& command : make_commands()) {
    for (const Option& option : command.options) {
      EXPECT_TRUE(option.name != "PATH" || listed.contains(command.name)) << command.name;
    }
  }
}

TEST_F(EmptyInput, WhereNothingRanCommandsDescribeButDoNotAnswerAboutAStep) {
  for (const char* name : {"empty.json", "array.json", "python.json"}) {
    for (const auto& words : describing(path(name))) {
      const CommandRun run = run_command(words);
      EXPECT_EQ(run.exit, 0) << name << " " << words[0] << ": " << run.error;
      EXPECT_NE(run.notes.find("nothing ran"), std::string::npos) << name << " " << words[0];
    }
    for (const auto& words : asking(path(name))) {
      const CommandRun run = run_command(words);
      EXPECT_EQ(run.exit, 1) << name << " " << words[0];
      EXPECT_NE(run.error.find("nothing ran in this trace, so there is no step"), std::string::npos) << run.error;
      EXPECT_NE(run.error.find(path(name)), std::string::npos) << run.error;
      EXPECT_EQ(run.out, "");
    }
  }
}

// A trace of JAX, of a browser, or with times in another unit reads as empty, which is not its fault.
TEST_F(EmptyInput, ATraceWhoseEventsAreNotUsedSaysWhy) {
  std::string foreign = "[", late = R"({"traceEvents": [)";
  for (int i = 0; i < 40; ++i) {
    foreign += fmt::format(R"({{"ph":"X","pid":1,"tid":2,"ts":{},"dur":5,"name":"fusion.{}"}},)", i * 10, i);
    late += fmt::format(R"({{"ph":"X","cat":"kernel","pid":1,"tid":2,"ts":{},"dur":5,"name":"k"}},)",
                        1765432109876543210 + i);
  }
  const std::string label = R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"python"}})";
  write("foreign.json", foreign + label + "]");
  write("late.json", late + label + "]}");
  for (const auto& words : asking(path("foreign.json"))) {
    EXPECT_NE(run_command(words).notes.find("none of its 41 events is of a category"), std::string::npos) << words[0];
  }
  for (const auto& words : asking(path("late.json"))) {
    EXPECT_NE(run_command(words).notes.find("40 events were skipped: start time over 73 years"), std::string::npos)
        << words[0] << run_command(words).notes;
  }
}

TEST_F(EmptyInput, CpuOperatorsAloneAreAStepForEveryCommand) {
  auto all = asking(path("cpu.json"));
  const auto more = describing(path("cpu.json"));
  all.insert(all.end(), more.begin(), more.end());
  for (const auto& words : all) {
    const CommandRun run = run_command(words);
    EXPECT_EQ(run.exit, 0) << words[0] << ": " << run.error;
  }
  const CommandRun replay = run_command({"replay", path("cpu.json")});
  EXPECT_NE(replay.out.find("operators on the CPU: there is no GPU work"), std::string::npos) << replay.out;
}

TEST_F(EmptyInput, ARankWithoutAnythingIsToldAndTheOthersAnswer) {
  std::filesystem::remove_all(path("job"));
  std::filesystem::create_directories(path("job"));
  std::filesystem::copy_file(path("demo.json"), path("job/rank0.json"));
  std::filesystem::copy_file(path("empty.json"), path("job/rank1.json"));
  const CommandRun run = run_command({"replay", path("job")});
  EXPECT_EQ(run.exit, 0) << run.error;
  EXPECT_NE(run.notes.find("rank1.json: nothing ran in this trace"), std::string::npos) << run.notes;
}

TEST_F(EmptyInput, ARankThatCannotBeReadIsAWarningOrStrictlyAnError) {
  std::filesystem::remove_all(path("job"));
  std::filesystem::create_directories(path("job"));
  std::filesystem::copy_file(path("demo.json"), path("job/rank0.json"));
  std::filesystem::create_symlink(path("absent.json"), path("job/rank1.json"));
  auto all = describing(path("job"));
  for (auto& words : asking(path("job"))) all.push_back(std::move(words));
  for (std::vector<std::string> words : all) {
    const CommandRun run = run_command(words);
    EXPECT_EQ(run.exit, 0) << words[0] << ": " << run.error;
    EXPECT_NE(run.notes.find("warning: left out: " + path("job/rank1.json")), std::string::npos) << run.notes;
    words.push_back("--strict");
    const CommandRun strict = run_command(words);
    EXPECT_EQ(strict.exit, 3) << words[0];
    EXPECT_NE(strict.error.find(path("job/rank1.json")), std::string::npos) << strict.error;
  }
}

TEST_F(EmptyInput, ATraceThatIsCutShortSaysSoOnceForEveryCommand) {
  std::string text;
  {
    std::ifstream in(path("demo.json"));
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (const double share : {0.1, 0.5, 0.9}) {
    write("cut.json", text.substr(0, static_cast<size_t>(share * static_cast<double>(text.size()))));
    auto all = describing(path("cut.json"));
    for (const auto& words : asking(path("cut.json"))) all.push_back(words);
    for (const auto& words : all) {
      const CommandRun run = run_command(words);
      const size_t at = run.notes.find("cut.json: the file is cut short after");
      ASSERT_NE(at, std::string::npos) << words[0] << ": " << run.notes;
      EXPECT_EQ(run.notes.find("cut short", at + 60), std::string::npos) << run.notes;
      EXPECT_NE(run.notes.find("copy or export it again"), std::string::npos) << run.notes;
    }
  }
}

}  // namespace
}  // namespace lumos

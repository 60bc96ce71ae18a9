// What users get wrong, command by command: the exit code, and a message that says what and where.
#include <gtest/gtest.h>

#include <fstream>

#include "lumos/base/file.h"
#include "lumos/base/test_data.h"
#include "lumos/base/test_folder.h"
#include "lumos/cli/test_command.h"

namespace lumos {
namespace {

constexpr int kWrongUsage = 2, kUnreadable = 3;

class WrongInput : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run_command({"demo", "--out", path("demo.json")}).exit, 0);
    demo_ = path("demo.json");
  }

  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string write(const std::string& name, const std::string& text) const { return folder_.write(name, text); }
  /// A file of the repository, which commands find by name only once installed.
  static std::string config(const std::string& name) { return source_path("configs/") + name; }

  void expect(const std::vector<std::string>& words, int exit, const std::vector<std::string>& parts) const {
    const CommandRun run = run_command(words);
    std::string line;
    for (const std::string& word : words) line += word + " ";
    EXPECT_EQ(run.exit, exit) << line << ": " << run.error;
    for (const std::string& part : parts)
      EXPECT_NE(run.error.find(part), std::string::npos) << line << ": " << run.error;
    EXPECT_EQ(run.error.find("Could not convert"), std::string::npos) << run.error;
    EXPECT_EQ(run.error.find("TEXT"), std::string::npos) << run.error;
  }

  const TempFolder folder_;
  std::string demo_;
};

// Every numeric option of every command, so that none shows the parser's own words.
TEST_F(WrongInput, ValuesThatAreNoNumbersNameTheOptionAndTheValue) {
  for (const Command& command : make_commands()) {
    for (const Option& option : command.options) {
      const bool whole = std::holds_alternative<int64_t*>(option.target);
      if (option.is_positional() || (!whole && !std::holds_alternative<double*>(option.target))) continue;
      expect({command.name, option.name, "abc"}, kWrongUsage, {command.name, option.name, "'abc'"});
    }
    for (const Option& option : command.options) {
      if (!option.is_positional() && !option.is_switch())
        expect({command.name, option.name}, kWrongUsage, {command.name, option.name});
    }
  }
}

TEST_F(WrongInput, NumbersBelowTheLeastAreNotTakenForNone) {
  size_t tried = 0;
  for (const Command& command : make_commands()) {
    for (const Option& option : command.options) {
      if (!option.least) continue;
      std::vector<std::string> words{command.name};
      for (const Option& needed : command.options) {
        if (!needed.required) continue;
        if (!needed.is_positional()) words.push_back(needed.name);
        words.push_back(path("absent.json"));
      }
      for (const int64_t below : {*option.least - 1, *option.least - 100}) {
        auto all = words;
        all.insert(all.end(), {option.name, std::to_string(below)});
        expect(all, kWrongUsage, {option.name, "must be", "not " + std::to_string(below)});
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, 12u);
}

TEST_F(WrongInput, AnOptionOfOneValueGivenTwiceIsTold) {
  for (const Command& command : make_commands()) {
    for (const Option& option : command.options) {
      if (option.is_positional() || option.is_switch() || option.is_list() || !option.choices.empty()) continue;
      expect({command.name, option.name, "1", option.name + "=1"}, kWrongUsage,
             {command.name, option.name + " is given 2 times"});
    }
  }
}

TEST_F(WrongInput, FactorsOutOfRangeAreRefusedAloneAndTogether) {
  for (const char* factor : {"1e15", "nan", "inf", "-1", "1e5", "0x10", ""}) {
    for (const char* option :
         {"--scale kernel:.*=", "--scale host=", "--bandwidth inter=", "--latency intra=", "--scale-batch "}) {
      const std::string text = option, name = text.substr(0, text.find(' '));
      expect({"predict", demo_, name, text.substr(text.find(' ') + 1) + factor}, kWrongUsage, {name});
    }
  }
  for (const char* zero : {"--bandwidth inter=0", "--bandwidth inter=1e-15", "--scale-batch 0", "--scale-batch 1e-9"}) {
    const std::string text = zero, name = text.substr(0, text.find(' '));
    expect({"predict", demo_, name, text.substr(text.find(' ') + 1)}, kWrongUsage, {name});
  }
  const std::string most = "kernel:.*=1e4";
  expect({"predict", demo_, "--scale", most, "--scale", most, "--scale", most, "--scale", most}, kWrongUsage,
         {"years"});
}

TEST_F(WrongInput, NamesOfOutputsThatTellNoFormatAreRefusedBeforeAnythingIsRead) {
  for (const char* name : {"x.txt", "x", "x.json.zip", "x.csv"}) {
    expect({"replay", path("absent.json"), "--out", path(name)}, kWrongUsage, {name, ".pftrace"});
    expect({"predict", path("absent.json"), "--scale", "host=1", "--out", path(name)}, kWrongUsage, {name, ".json.gz"});
    expect({"convert", path("absent.json"), "--out", path(name)}, kWrongUsage, {name, ".lumos"});
    expect({"critical-path", path("absent.json"), "--overlay", path(name)}, kWrongUsage, {name, ".json"});
  }
}

TEST_F(WrongInput, WhatMeansNothingIsAnError) {
  expect({"replay", demo_, "--rank-regex", "gpu(\\d+)"}, kWrongUsage, {"gpu(\\d+)", "demo.json"});
  expect({"predict", demo_, "--fuse", "op:aten::mm"}, kWrongUsage, {"nothing to fuse"});
  expect({"predict", demo_, "--fuse", "op:none"}, kWrongUsage, {"matches nothing"});
  const std::string job = config("jobs/demo.toml"), cluster = config("clusters/dgx-h100.toml");
  expect({"synth", "--job", job, "--cluster", cluster, "--out", path("s"), "--ranks", "3-1"}, kWrongUsage, {"1-3"});
  for (const char* rank : {"2147483648", "9223372036854775807", "99999999999999999999"}) {
    expect({"synth", "--job", job, "--cluster", cluster, "--out", path("s"), "--ranks", rank}, kWrongUsage, {rank});
    expect({"predict", demo_, "--scale", std::string("rank:") + rank + "=2"}, kWrongUsage, {rank});
  }
  for (const char* samples : {"1000000000000", "9000000000000000000", "9223372036854775807"}) {
    expect(
        {"search", "--job", job, "--cluster", cluster, "--gpus", "16", "--samples-per-gpu", samples, "--simulate", "0"},
        kWrongUsage, {samples});
  }
  expect({"search", "--job", job, "--cluster", cluster, "--gpus", "0"}, kWrongUsage, {"--gpus 0"});
}

TEST_F(WrongInput, ASearchWithoutAnAnswerSaysWhatIsNearest) {
  const std::string job = config("jobs/gpt3-15b.toml"), cluster = config("clusters/dgx-h100.toml");
  expect({"search", "--job", job, "--cluster", cluster, "--gpus", "8", "--set", "hidden_size=65536"}, 1,
         {"none of", "leanest", "GiB of the 80.0 GiB"});
  expect({"search", "--job", job, "--cluster", cluster, "--gpus", "7"}, 1, {"legal", "the first: "});
}

TEST_F(WrongInput, TablesOfMeasurementsNameLineAndColumn) {
  const std::string job = config("jobs/demo.toml"), cluster = config("clusters/dgx-h100.toml");
  for (const char* cell : {"0", "-1", "nan", "inf", "fast", "\"1,5\""}) {
    const std::string value = cell;
    const auto runs = write("runs.csv", "num_gpus,step_ms\n" + ("8," + value) + "\n");
    expect({"calibrate", "--job", job, "--cluster", cluster, "--runs", runs}, kWrongUsage, {"runs.csv:2", "step_ms"});
    const auto moved = write("moved.csv", "num_gpus,size_bytes,time_us\n8,1e8," + value + "\n");
    expect({"calibrate", "--cluster", cluster, "--collectives", moved}, kWrongUsage, {"moved.csv:2", "time_us"});
    const auto bytes = write("bytes.csv", "# all-reduce\nnum_gpus,size_bytes,time_us\n8," + value + ",7\n");
    expect({"calibrate", "--cluster", cluster, "--collectives", bytes}, kWrongUsage, {"bytes.csv:3", "size_bytes"});
    const auto gpus = write("gpus.csv", "num_gpus,size_bytes,time_us\n" + value + ",1e8,7\n");
    expect({"calibrate", "--cluster", cluster, "--collectives", gpus}, kWrongUsage, {"gpus.csv:2", "num_gpus"});
    const auto kernels = write("kernels.csv", "kernel,time_us\n.*," + value + "\n");
    expect({"predict", demo_, "--kernel-times", kernels}, kWrongUsage, {"kernels.csv:2", "time_us"});
  }
  const std::pair<const char*, const char*> tables[] = {
      {"num_gpus,step_ms,num_gpus\n8,1,8\n", "num_gpus is there twice"},
      {"num_gpus,world_size,step_ms\n8,8,1\n", "say the same"},
      {"a,step_ms\n1,2\n", "no column is a setting"},
      {"", "no header line"},
      {"num_gpus,step_ms\n8\n", ":2: 1 cells"}};
  for (const auto& [text, message] : tables) {
    const std::string file = write("table.csv", text);
    expect({"calibrate", "--job", job, "--cluster", cluster, "--runs", file}, kWrongUsage, {"table.csv", message});
    expect({"estimate", "--job", job, "--cluster", cluster, "--jobs", file}, kWrongUsage, {"table.csv", message});
    expect({"search", "--job", job, "--cluster", cluster, "--configs", file}, kWrongUsage, {"table.csv", message});
  }
  const auto missing = write("missing.csv", "num_gpus\n8\n");
  expect({"calibrate", "--job", job, "--cluster", cluster, "--runs", missing}, kWrongUsage,
         {"missing.csv:1", "step_ms"});
  expect({"calibrate", "--cluster", cluster, "--collectives", missing}, kWrongUsage, {"missing.csv:1", "size_bytes"});
  expect({"predict", demo_, "--kernel-times", missing}, kWrongUsage, {"missing.csv:1", "num_gpus"});
}

TEST_F(WrongInput, AFitOfMoreConstantsThanRowsIsTold) {
  const std::string cluster = config("clusters/dgx-h100.toml"), job = config("jobs/gpt3-15b.toml");
  const std::string collective = "num_gpus,size_bytes,time_us\n8,268435456,1500\n";
  const std::string runs = "num_gpus,global_batch_size,step_ms\n16,32,900\n32,64,950\n";
  const auto notes = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"calibrate", "--cluster", cluster});
    const CommandRun run = run_command(words);
    EXPECT_EQ(run.exit, 0) << run.error;
    return run.notes;
  };
  const std::string few = write("few.csv", collective), two = write("two.csv", runs);
  EXPECT_NE(notes({"--collectives", few}).find("1 row of --collectives cannot tell 6 constants"), std::string::npos);
  EXPECT_NE(notes({"--job", job, "--runs", two}).find("2 rows of --runs cannot tell"), std::string::npos);
  const std::string one = "gpu.gemm_peak_fraction";
  EXPECT_EQ(notes({"--job", job, "--runs", two, "--constants", one}).find("cannot tell"), std::string::npos);
}

TEST_F(WrongInput, SmallCollectivesAreCountedAndAloneAreNothingToFit) {
  const std::string cluster = config("clusters/dgx-h100.toml");
  std::string rows = "num_gpus,size_bytes,time_us\n8,1024,10\n8,2048,11\n";
  expect({"calibrate", "--cluster", cluster, "--collectives", write("small.csv", rows)}, kWrongUsage,
         {"2 of 2 rows", "below 4 MiB"});
  for (int gpus : {2, 4, 8}) {
    for (double mib : {8.0, 32.0, 128.0, 512.0})
      rows += fmt::format("{},{},{}\n", gpus, mib * 1048576, 20 + mib * 1048576 / 300e3);
  }
  const CommandRun run = run_command({"calibrate", "--cluster", cluster, "--collectives", write("all.csv", rows)});
  EXPECT_EQ(run.exit, 0) << run.error;
  EXPECT_NE(run.notes.find("2 of 14 rows"), std::string::npos) << run.notes;
}

TEST_F(WrongInput, SettingsUnderMegatronsNamesAreReadOrSaidWhyNot) {
  const std::string cluster = config("clusters/dgx-h100.toml"), job = config("jobs/gpt3-15b.toml");
  const auto set = [&](const std::string& setting) {
    return std::vector<std::string>{"estimate", "--job", job, "--cluster", cluster, "--set", setting};
  };
  for (const auto& [written, field] :
       {std::pair("num-layers=24", "num_layers=24"),
        {"fp16=true", "params_dtype=fp16"},
        {"num_layers_per_virtual_pipeline_stage=6", "virtual_pipeline_model_parallel_size=4"}})
    EXPECT_EQ(run_command(set(written)).out, run_command(set(field)).out) << written;
  expect(set("num-experts=8"), kWrongUsage, {"num_experts 8 is not supported", "experts"});
  expect(set("lr=0.1"), kWrongUsage, {"--set lr", "without effect"});
  expect(set("qk_layernorm=true"), kWrongUsage, {"--set qk_layernorm", "not modelled"});
  expect(set("num_layer=8"), kWrongUsage, {"--set num_layer", "did you mean num_layers?"});
}

TEST_F(WrongInput, SettingsOfACommandAreReadTogether) {
  const std::string cluster = config("clusters/dgx-h100.toml"), job = config("jobs/gpt3-15b.toml");
  const auto with = [&](const std::vector<std::string>& settings) {
    std::vector<std::string> words = {"estimate", "--job", job, "--cluster", cluster};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    return words;
  };
  using Settings = std::vector<std::string>;
  for (const auto& [written, fields] :
       {std::pair(Settings{"nnodes=2", "nproc_per_node=8"}, Settings{"world_size=16", "gpus_per_node=8"}),
        {{"nproc_per_node=4", "nnodes=4"}, {"world_size=16", "gpus_per_node=4"}},
        {{"swiglu=true", "bias_swiglu_fusion=false"}, {"swiglu=true", "bias_gelu_fusion=false"}},
        {{"bf16=false", "fp16=false"}, {"params_dtype=fp32"}},
        {{"group_query_attention=true", "num_query_groups=8"}, {"num_query_groups=8"}},
        {{"num_layers=12", "num-layers=24"}, {"num_layers=24"}}}) {
    const CommandRun run = run_command(with(written));
    EXPECT_EQ(run.exit, 0) << written[0] << run.error;
    EXPECT_EQ(run.out, run_command(with(fields)).out) << written[0];
  }
  expect(with({"bf16=true", "params_dtype=fp16"}), kWrongUsage, {"leave one of them out"});
  expect(with({"group_query_attention=false", "num_query_groups=8"}), kWrongUsage,
         {"--set num_query_groups=8: without effect here"});
  EXPECT_EQ(run_command(with({"attention_backend=flash", "use_flash_attn=false"})).exit, 0);
}

// Whoever reads them says the same, and before anything else is looked at.
TEST_F(WrongInput, SettingsThatChangeNothingAreRefusedByEveryCommand) {
  const std::string cluster = config("clusters/dgx-h100.toml"), job = config("jobs/gpt3-15b.toml");
  const auto absent = path("absent.json");
  for (std::vector<std::string> words : {std::vector<std::string>{"estimate", "--job", job, "--cluster", cluster},
                                         {"synth", "--job", job, "--cluster", cluster, "--out", absent},
                                         {"search", "--job", job, "--cluster", cluster, "--gpus", "8"},
                                         {"predict", absent, "--job", job}}) {
    words.insert(words.end(), {"--set", ""});
    for (const char* idle : {"bf16=false", "--fp16=false", "nnodes=2", "attention_backend=auto", "num_experts=1",
                             "disable-bias-linear=false", "group_query_attention=false"}) {
      words.back() = idle;
      expect(words, kWrongUsage, {fmt::format("--set {}: without effect here", idle)});
    }
    words.back() = "group_query_attention=true";
    expect(words, kWrongUsage, {"without effect here; num_query_groups says"});
    for (const char* learning : {"lr=0", "lr=0.1"}) {
      words.back() = learning;
      expect(words, kWrongUsage, {"--set lr: without effect on the time of a step"});
    }
    words.back() = "num_layer=8";
    expect(words, kWrongUsage, {"--set num_layer: neither a job nor a cluster has it; did you mean num_layers?"});
  }
  expect({"predict", absent, "--job", job, "--set", "gpu.memory_gib=40"}, kWrongUsage,
         {"--set gpu.memory_gib: a number of the cluster"});
}

TEST_F(WrongInput, FilesThatAreDamagedAreUnreadableWhoeverReadsThem) {
  const std::string job = config("jobs/demo.toml"), cluster = config("clusters/dgx-h100.toml");
  for (const auto& [name, text] : {std::pair{"bad.json", "{\"a\": "}, {"bad.toml", "= 3\n"}}) {
    const std::string bad = write(name, text);
    expect({"estimate", "--job", bad, "--cluster", cluster}, kUnreadable, {name});
    expect({"estimate", "--job", job, "--cluster", bad}, kUnreadable, {name});
    expect({"predict", demo_, "--changes", bad}, kUnreadable, {name});
    expect({"search", "--job", job, "--cluster", cluster, "--space", bad}, kUnreadable, {name});
    expect({"validate", bad, demo_}, kUnreadable, {name});
    expect({"replay", bad}, kUnreadable, {name});
  }
  expect({"replay", write("object.json", R"({"traceEvents": {}})")}, kUnreadable, {"traceEvents are no list"});
}

// One damaged time stamp makes a step of months: all commands answer about it in the memory that its events need.
TEST_F(WrongInput, AWildTimeStampIsToldAndTakesNoMemory) {
  std::string text = *read_file(demo_);
  const size_t kernel = text.rfind("\"kernel\"");
  ASSERT_NE(kernel, std::string::npos);
  const size_t begin = text.find("\"ts\":", kernel) + 5;
  text.replace(begin, text.find_first_of(",}", begin) - begin, "9e12");
  const std::string wild = write("wild.json", text);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"replay", wild},
                                                {"replay", wild, "--out", path("again.json")},
                                                {"replay", wild, "--out", path("again.pftrace")},
                                                {"report", wild, "--out", path("wild.html")},
                                                {"inspect", wild},
                                                {"critical-path", wild, "--overlay", path("path.json")},
                                                {"gains", wild},
                                                {"predict", wild, "--scale", "host=0.5", "--json"},
                                                {"diff", wild, demo_},
                                                {"export", wild, "--csv", path("csv")}}) {
    const CommandRun run = run_command(words);
    EXPECT_EQ(run.exit, 0) << words[0] << ": " << run.error;
    EXPECT_NE(run.notes.find("time stamp"), std::string::npos) << words[0] << ": " << run.notes;
  }
}

TEST_F(WrongInput, PredictionsWhosePartsAreNotTheStepAreRefused) {
  const CommandRun predicted = run_command({"predict", demo_, "--scale", "host=0.5", "--json"});
  ASSERT_EQ(predicted.exit, 0);
  EXPECT_EQ(run_command({"validate", write("good.json", predicted.out), demo_}).exit, 0);
  const size_t at = predicted.out.find("\"predicted\"");
  for (const char* name : {"step_ms", "exposed_compute_ms", "other_ms"}) {
    for (const char* value : {"0", "-3", "99"}) {
      std::string text = predicted.out;
      const size_t begin = text.find(':', text.find(name, at)) + 1;
      text.replace(begin, text.find_first_of(",}", begin) - begin, value);
      // No host time left over is a prediction like others.
      if (std::string(name) == "other_ms" && std::string(value) == "0") continue;
      expect({"validate", write("odd.json", text), demo_}, kUnreadable, {"odd.json"});
    }
  }
}

// A damaged last line beside whole ones is left out; where it is all there is, there is nothing to join.
TEST_F(WrongInput, PartsWithoutAWholeResultAreNotJoined) {
  const std::string damaged = write("damaged.jsonl", "{\"id\":\"00");
  const std::string other = write("other.jsonl", "{\"id\":");
  const std::string empty = write("empty.jsonl", "");
  expect({"merge", damaged}, kUnreadable, {damaged, "damaged"});
  expect({"merge", damaged, other}, kUnreadable, {damaged, "damaged"});
  expect({"merge", empty, damaged}, kUnreadable, {damaged, "damaged"});
  EXPECT_EQ(run_command({"merge", empty}).exit, 0);
}

}  // namespace
}  // namespace lumos

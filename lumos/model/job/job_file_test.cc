#include "lumos/model/job/job_file.h"

#include <gtest/gtest.h>

#include "lumos/base/json_value.h"
#include "lumos/base/toml.h"
#include "lumos/model/job/test_jobs.h"

namespace lumos {
namespace {

TEST(JobFile, WhatIsWrittenReadsBack) {
  const Job job =
      test_job({{"tensor_model_parallel_size", "2"}, {"recompute_granularity", "full"}, {"swiglu", "true"}});
  const auto toml = parse_toml(job_to_toml(job), "job.toml");
  ASSERT_TRUE(toml) << toml.error().message;
  EXPECT_EQ(job_from_value(ValueView(*toml, "job.toml"))->job, job);
  JsonWriter json;
  write_job(json, job);
  const auto value = parse_json(json.text(), "job.json");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(job_from_value(ValueView(*value, "job.json"))->job, job);
}

TEST(JobFile, ANameOfAnyTextReadsBack) {
  for (const char* name : {"my \"big\" model", "C:\\models\\gpt", "two\nlines = 3", "a # b", "\u00e9\t\x7f"}) {
    const Job job = test_job({{"model_name", name}});
    const Result<Value> value = parse_toml(job_to_toml(job), "written.toml");
    ASSERT_TRUE(value) << name << ": " << value.error().message;
    const auto again = job_from_value(ValueView(*value, "written.toml"));
    ASSERT_TRUE(again) << name << ": " << again.error().message;
    EXPECT_EQ(again->job, job);
  }
}

TEST(JobFile, NullIsUnsetAndUnknownKeysAreNamed) {
  const auto value = parse_json(R"({"num_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "seq_length": 128,
      "vocab_size": 1000, "kv_channels": null, "recompute_granularity": null, "tensor_model_parallel_sizes": 2,
      "notes": {"a": 1}})",
                                "job.json");
  const auto file = job_from_value(ValueView(*value, "job.json"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->job.kv_channels, 64);
  ASSERT_EQ(file->warnings.size(), 1u);
  EXPECT_NE(file->warnings[0].find("tensor_model_parallel_sizes (did you mean tensor_model_parallel_size?)"),
            std::string::npos);
  EXPECT_NE(file->warnings[0].find("notes"), std::string::npos);
}

TEST(JobFile, SizesThatTheFileGivesStayAndThatIsTold) {
  const auto read = [](const std::string& more, const std::vector<JobSetting>& overrides,
                       const std::vector<JobSetting>& fallbacks = {}) {
    const auto value = parse_toml(
        "num_layers = 4\nhidden_size = 512\nnum_attention_heads = 8\nseq_length = 128\nvocab_size = 1000\n" + more,
        "f");
    return job_from_value(ValueView(*value, "f"), overrides, fallbacks).value();
  };
  const std::vector<JobSetting> wider = {{"hidden_size", "1024"}};
  const JobFile stays = read("kv_channels = 64\nffn_hidden_size = 2048\n", wider);
  EXPECT_EQ(stays.job.kv_channels, 64);
  ASSERT_EQ(stays.warnings.size(), 2u);
  EXPECT_NE(stays.warnings[0].find("ffn_hidden_size stays 2048"), std::string::npos) << stays.warnings[0];
  EXPECT_NE(stays.warnings[1].find("kv_channels stays 64"), std::string::npos) << stays.warnings[1];

  // Nothing to tell: they follow, are set as well, were unusual before, or nothing changed that they hang on.
  const JobFile follows = read("", wider),
                traced = read("", wider, {{"kv_channels", "64"}, {"ffn_hidden_size", "2048"}});
  for (const JobFile& file : {follows, traced}) {
    EXPECT_EQ(file.job.kv_channels, 128);
    EXPECT_EQ(file.job.ffn_hidden_size, 4096);
    EXPECT_TRUE(file.warnings.empty()) << file.warnings[0];
  }
  EXPECT_TRUE(read("kv_channels = 64\n", {{"hidden_size", "1024"}, {"kv_channels", "64"}}).warnings.empty());
  EXPECT_TRUE(read("kv_channels = 32\nffn_hidden_size = 1000\n", wider).warnings.empty());
  EXPECT_TRUE(read("kv_channels = 64\nffn_hidden_size = 2048\n", {{"num_layers", "8"}}).warnings.empty());
  // What the traces say otherwise is the traced job's own.
  EXPECT_EQ(read("", wider, {{"kv_channels", "32"}}).job.kv_channels, 32);
}

TEST(JobFile, ErrorsNameTheFile) {
  const auto value = parse_toml("num_layers = 4\n", "my-job.toml");
  const auto file = job_from_value(ValueView(*value, "my-job.toml"));
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("my-job.toml"), std::string::npos);
  EXPECT_NE(file.error().message.find("hidden_size"), std::string::npos);
}

TEST(JobFile, OverridesAreChangesOfTheFilesJob) {
  const auto value = parse_toml(job_to_toml(test_job({{"data_parallel_size", "4"}})), "job.toml");
  const auto file = job_from_value(ValueView(*value, "job.toml"), {{"data_parallel_size", "8"}});
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->job.world_size, 8);
}

}  // namespace
}  // namespace lumos

#include <gtest/gtest.h>

#include <filesystem>

#include "lumos/base/toml.h"
#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/job_file.h"
#include "lumos/model/job/test_jobs.h"
#include "lumos/plan/estimate.h"

namespace lumos {
namespace {

Result<Cluster> parse(const std::string& text) {
  const Value value = TRY(parse_toml(text, "test.toml"));
  return cluster_from_value(ValueView(value, "test.toml"));
}

TEST(Cluster, TextReadsBackAsTheSameCluster) {
  Cluster cluster = test_cluster();
  const std::string text = cluster_to_toml(cluster, "first line\nsecond line");
  EXPECT_TRUE(text.starts_with("# first line\n# second line\n"));
  auto again = parse(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(cluster_to_toml(*again), cluster_to_toml(cluster));
}

TEST(Cluster, NamesOfAnyTextReadBack) {
  for (const char* name : {"my \"big\" box", "C:\\clusters", "two\nlines = 3", "a # b", "\u00e9\t\x7f", ""}) {
    Cluster cluster = test_cluster();
    cluster.name = cluster.gpu.name = name;
    const auto again = parse(cluster_to_toml(cluster));
    ASSERT_TRUE(again) << name << ": " << again.error().message;
    EXPECT_EQ(again->name, name);
    EXPECT_EQ(again->gpu.name, name);
  }
}

TEST(Cluster, AMisspeltConstantIsAnErrorThatNamesIt) {
  std::string text = cluster_to_toml(test_cluster());
  text.replace(text.find("kernel_floor_us"), 15, "kernel_flor_us_");
  const auto cluster = parse(text);
  ASSERT_FALSE(cluster);
  EXPECT_NE(cluster.error().message.find("kernel_flor_us_"), std::string::npos) << cluster.error().message;
}

TEST(Cluster, ARateOfZeroIsRefused) {
  std::string text = cluster_to_toml(test_cluster());
  const size_t at = text.find("matrix_tflops = ");
  text.replace(at, text.find('\n', at) - at, "matrix_tflops = 0");
  const auto cluster = parse(text);
  ASSERT_FALSE(cluster);
  EXPECT_NE(cluster.error().message.find("matrix_tflops"), std::string::npos);
}

TEST(Cluster, NoFractionIsMoreThanTheWhole) {
  size_t fractions = 0;
  for (const ClusterField& field : cluster_fields()) {
    if (!field.name.ends_with("_fraction")) continue;
    ++fractions;
    Cluster cluster = test_cluster();
    EXPECT_TRUE(set_cluster_field(cluster, field.name, "1")) << field.name;
    for (const char* wrong : {"1.0000001", "72", "0", "-0.5", "inf"}) {
      const Status status = set_cluster_field(cluster, field.name, wrong);
      ASSERT_FALSE(status) << field.name << " " << wrong;
      EXPECT_NE(status.error().message.find("at most 1"), std::string::npos) << status.error().message;
    }
    field.real(cluster) = 72;
    const auto read = parse(cluster_to_toml(cluster));
    ASSERT_FALSE(read) << field.name;
    EXPECT_NE(read.error().message.find(field.name), std::string::npos) << read.error().message;
    EXPECT_NE(read.error().message.find("at most 1"), std::string::npos) << read.error().message;
  }
  EXPECT_GE(fractions, 6u);
}

TEST(Cluster, SettingsChangeOneNumber) {
  Cluster cluster = test_cluster();
  ASSERT_TRUE(set_cluster_field(cluster, "gpu.memory_gib", "40"));
  EXPECT_EQ(cluster.gpu.memory_gib, 40);
  EXPECT_FALSE(set_cluster_field(cluster, "gpu.memory", "40"));
  EXPECT_FALSE(set_cluster_field(cluster, "gpu.memory_gib", "much"));
  for (const char* wrong : {"0", "-1", "nan", "inf"}) EXPECT_FALSE(set_cluster_field(cluster, "gpu.memory_gib", wrong));
  EXPECT_TRUE(set_cluster_field(cluster, "node.latency_us", "0"));
}

TEST(Configs, EveryJobRunsOnEveryCluster) {
  size_t pairs = 0;
  for (const auto& job_entry : std::filesystem::directory_iterator(source_path("configs/jobs"))) {
    const auto file = read_job_file(job_entry.path().string());
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->warnings.empty()) << file->warnings[0];
    EXPECT_EQ(file->job.model_name, job_entry.path().stem().string());
    for (const auto& cluster_entry : std::filesystem::directory_iterator(source_path("configs/clusters"))) {
      const auto cluster = read_cluster_file(cluster_entry.path().string());
      ASSERT_TRUE(cluster) << cluster.error().message;
      const auto result = estimate(file->job, *cluster);
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_GT(result->mfu_pct, 5) << file->job.model_name << " on " << cluster->name;
      EXPECT_LT(result->mfu_pct, 80) << file->job.model_name << " on " << cluster->name;
      ++pairs;
    }
  }
  EXPECT_GE(pairs, 50u);
}

}  // namespace
}  // namespace lumos

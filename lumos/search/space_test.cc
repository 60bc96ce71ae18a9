#include "lumos/search/space.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "lumos/base/json_value.h"
#include "lumos/base/toml.h"
#include "lumos/search/configuration.h"
#include "lumos/search/test_space.h"

namespace lumos {
namespace {

Result<SearchSpace> space_of(std::string_view toml) {
  const Value value = parse_toml(toml, "space.toml").value();
  return space_from_value(ValueView(value, "space.toml"));
}

TEST(Space, EveryJobIsLegalKeepsTheBatchAndComesOnce) {
  const Job base = search_test_job();
  const Cluster cluster = search_test_cluster();
  const Enumeration found = enumerate_space(complete_space({}, base, cluster, 64).value(), base, cluster).value();
  std::set<std::string> ids;
  for (const Job& job : found.jobs) {
    EXPECT_TRUE(check_job(job)) << config_id(job, "");
    EXPECT_EQ(job.world_size, 64);
    EXPECT_EQ(job.global_batch_size, base.global_batch_size);
    EXPECT_TRUE(ids.insert(config_id(job, "")).second);
  }
  EXPECT_GT(found.jobs.size(), 200u);
  EXPECT_EQ(found.jobs.size() + found.illegal + found.repeated, found.combinations);
}

TEST(Space, AFileNarrowsWhatIsTried) {
  const Job base = search_test_job();
  const Cluster cluster = search_test_cluster();
  const SearchSpace space = space_of(
                                "tensor_model_parallel_size = [2, 4]\nrecompute_granularity = \"full\"\n"
                                "sequence_parallel = true\n")
                                .value();
  const Enumeration found = enumerate_space(complete_space(space, base, cluster, 16).value(), base, cluster).value();
  ASSERT_FALSE(found.jobs.empty());
  for (const Job& job : found.jobs) {
    EXPECT_TRUE(job.tensor_model_parallel_size == 2 || job.tensor_model_parallel_size == 4);
    EXPECT_EQ(job.recompute_granularity, Recompute::kFull);
    EXPECT_TRUE(job.sequence_parallel);
  }
}

TEST(Space, ANumberHasOneSpelling) {
  Job base = search_test_job();
  const Cluster cluster = search_test_cluster();
  for (const char* toml : {"world_size = 16", "world_size = \"1.6e1\"", "world_size = [\"16.0\"]"}) {
    SearchSpace space = space_of(toml).value();
    space.samples_per_gpu = 2;
    const Enumeration found = enumerate_space(complete_space(space, base, cluster, 0).value(), base, cluster).value();
    ASSERT_FALSE(found.jobs.empty());
    for (const Job& job : found.jobs) EXPECT_EQ(job.global_batch_size, 32) << toml;
  }
}

TEST(Space, NullMeansUnsetInEveryField) {
  const Job base = search_test_job();
  const Cluster cluster = search_test_cluster();
  for (std::string_view name : job_field_names()) {
    for (const char* shape : {"null", "[null]"}) {
      const Value value = parse_json(fmt::format("{{\"{}\": {}}}", name, shape), "space.json").value();
      const Result<SearchSpace> space = space_from_value(ValueView(value, "space.json"));
      ASSERT_TRUE(space) << name << ": " << space.error().message;
      const Result<Job> unset = change_job(base, name, "null");
      const Result<Enumeration> found = enumerate_space(*space, base, cluster);
      ASSERT_TRUE(found) << name;
      EXPECT_EQ(found->jobs.size(), unset ? 1u : 0u) << name << ": " << found->example;
    }
  }
}

TEST(Space, AMistakeInTheFileIsNamed) {
  EXPECT_NE(space_of("tensor_model_paralel_size = [1]").error().message.find("tensor_model_parallel_size"),
            std::string::npos);
  EXPECT_NE(space_of("recompute_granularity = [\"half\"]").error().message.find("space.toml:1"), std::string::npos);
  EXPECT_FALSE(space_of("micro_batch_size = []"));
}

TEST(Space, WhatADistributedOptimizerNeedsGoesWithIt) {
  const Job base =
      search_test_job({{"world_size", "8"}, {"use_distributed_optimizer", "true"}, {"overlap_param_gather", "true"}});
  const Cluster cluster = search_test_cluster();
  const Enumeration found = enumerate_space(complete_space({}, base, cluster, 0).value(), base, cluster).value();
  size_t with = 0, without = 0;
  for (const Job& job : found.jobs) {
    EXPECT_EQ(job.overlap_param_gather, job.use_distributed_optimizer);
    ++(job.use_distributed_optimizer ? with : without);
  }
  EXPECT_GT(with, 0u);
  EXPECT_GT(without, 0u);
}

TEST(Space, AClusterThatIsTooSmallLeavesNothing) {
  const Job base = search_test_job();
  Cluster cluster = search_test_cluster();
  cluster.num_nodes = 1;
  const Enumeration found = enumerate_space(complete_space({}, base, cluster, 64).value(), base, cluster).value();
  EXPECT_TRUE(found.jobs.empty());
  EXPECT_FALSE(found.example.empty());
}

TEST(Space, ABatchOutOfRangeIsAnErrorWhateverMakesIt) {
  const Job base = search_test_job();
  const Cluster cluster = search_test_cluster();
  for (int64_t samples : {kLargestBatch, int64_t{9'000'000'000'000'000'000}, std::numeric_limits<int64_t>::max()}) {
    for (int64_t gpus : {int64_t{2}, int64_t{16}, int64_t{1} << 62}) {
      SearchSpace space;
      space.samples_per_gpu = samples;
      const Result<SearchSpace> complete = complete_space(space, base, cluster, gpus);
      ASSERT_FALSE(complete) << samples << " on " << gpus;
      EXPECT_EQ(complete.error().kind, ErrorKind::kUsage);
    }
  }
  for (const char* toml : {"world_size = -16", "world_size = 0", "world_size = [8, 9000000000000000000]"}) {
    SearchSpace space = space_of(toml).value();
    space.samples_per_gpu = 2;
    EXPECT_FALSE(complete_space(space, base, cluster, 0)) << toml;
    EXPECT_FALSE(enumerate_space(space, base, cluster)) << toml;
  }
}

TEST(Space, AnAxisWithoutValuesIsAnError) {
  const SearchSpace space{{{"world_size", {"8"}}, {"micro_batch_size", {}}}, 0};
  const Result<Enumeration> found = enumerate_space(space, search_test_job(), search_test_cluster());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kUsage);
}

TEST(Space, TheIdDependsOnEverySettingAndOnTheCluster) {
  const Job base = search_test_job();
  Cluster cluster = search_test_cluster();
  const std::string id = config_id(base, search_context({cluster, {}}));
  EXPECT_EQ(id.size(), 16u);
  EXPECT_NE(id, config_id(change_job(base, "micro_batch_size", "2").value(), search_context({cluster, {}})));
  cluster.price_per_gpu_hour = 2;
  EXPECT_EQ(id, config_id(base, search_context({cluster, {}})));
  cluster.fabric.gb_per_s *= 2;
  EXPECT_NE(id, config_id(base, search_context({cluster, {}})));
}

}  // namespace
}  // namespace lumos

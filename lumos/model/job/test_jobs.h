// Jobs and clusters for the tests of this folder. Tests only.
#pragma once

#include <gtest/gtest.h>

#include "lumos/base/test_data.h"
#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/job.h"

namespace lumos {

/// A GPT small enough to reason about, with `settings` on top. Its sizes are given, so that each setting changes what
/// it names alone.
inline Job test_job(std::vector<JobSetting> settings = {}) {
  std::vector<JobSetting> all = {{"num_layers", "8"},         {"hidden_size", "1024"},  {"num_attention_heads", "16"},
                                 {"ffn_hidden_size", "4096"}, {"kv_channels", "64"},    {"seq_length", "2048"},
                                 {"vocab_size", "51200"},     {"num_microbatches", "8"}};
  const Result<Job> base = resolve_job(all);
  EXPECT_TRUE(base) << base.error().message;
  const Result<Job> job = change_job(*base, settings);
  EXPECT_TRUE(job) << job.error().message;
  return job.value_or(Job{});
}

/// A cluster that comes with Lumos.
inline Cluster test_cluster(const std::string& name = "dgx-h100") {
  const Result<Cluster> cluster = read_cluster_file(source_path("configs/clusters/" + name + ".toml"));
  EXPECT_TRUE(cluster) << cluster.error().message;
  return cluster.value_or(Cluster{});
}

}  // namespace lumos

// Jobs and spaces for the tests of this folder. Tests only.
#pragma once

#include <gtest/gtest.h>

#include "lumos/base/test_data.h"
#include "lumos/model/cluster/cluster.h"
#include "lumos/search/space.h"

namespace lumos {

/// A GPT that many splits divide, with `settings` on top.
inline Job search_test_job(const std::vector<JobSetting>& settings = {}) {
  std::vector<JobSetting> all = {{"num_layers", "24"},   {"hidden_size", "4096"}, {"num_attention_heads", "32"},
                                 {"seq_length", "2048"}, {"vocab_size", "51200"}, {"global_batch_size", "64"}};
  all.insert(all.end(), settings.begin(), settings.end());
  const Result<Job> job = resolve_job(all);
  EXPECT_TRUE(job) << job.error().message;
  return job.value_or(Job{});
}

inline Cluster search_test_cluster() {
  const Result<Cluster> cluster = read_cluster_file(source_path("configs/clusters/dgx-h100.toml"));
  EXPECT_TRUE(cluster) << cluster.error().message;
  return cluster.value_or(Cluster{});
}

}  // namespace lumos

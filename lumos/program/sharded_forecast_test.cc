// Predictions of jobs that shard their parameters, from traces of PyTorch's fully_shard: steps whose truth is known,
// and what changes when units are gathered or reduced otherwise.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lumos/base/file.h"
#include "lumos/base/json_value.h"
#include "lumos/base/test_data.h"
#include "lumos/program/change/switches.h"
#include "lumos/program/test_sets.h"
#include "lumos/program/test_synthetic.h"

namespace lumos {
namespace {

const std::string kFolder = "vcluster/fsdp-llama-16";

double error_pct(const Recovery& recovery, const std::string& configuration, const Settings& change) {
  const std::string path = data_path(kFolder) + "/actual.json";
  const Value actual = parse_json(read_file(path).value(), path).value();
  return 100 * (predicted_ms(recovery, change) / *actual.find(configuration)->find("step_ms")->get<double>() - 1);
}

/// Transfers of a scope in the first rank's blocks.
int count(const Recovery& recovery, CommScope scope) {
  const RankTransfers& transfers = recovery.transfers.front();
  int found = 0;
  for (const BlockTask& task : recovery.program.ranks.front().tasks) {
    if (task.kind != TaskKind::kTransfer || task.event == kNoIndex) continue;
    const uint32_t index = transfers.of_row[task.event];
    found += index != kNoIndex && transfers.transfers[index].scope == scope;
  }
  return found;
}

TEST(ShardedForecast, SizesOfShardsAndBatches) {
  SKIP_WITHOUT_DATA(data_path(kFolder));
  const Recovery recovery = recover_set(data_path(kFolder));
  EXPECT_NEAR(error_pct(recovery, "dp32", {{"data_parallel_size", "32"}}), 0, 2);
  EXPECT_NEAR(error_pct(recovery, "layers12", {{"num_layers", "12"}}), 0, 2);
  EXPECT_NEAR(error_pct(recovery, "no-reshard", {{"reshard_after_forward", "false"}}), 0, 2);
  EXPECT_NEAR(error_pct(recovery, "recompute", {{"recompute_granularity", "full"}}), 0, 2);
}

TEST(ShardedForecast, UnitsAreGatheredAndReducedAsTheJobSays) {
  SKIP_WITHOUT_DATA(data_path(kFolder));
  const Recovery recovery = recover_set(data_path(kFolder));
  const auto changed = [&](const std::vector<JobSetting>& settings) {
    return apply_switches(recovery, change_job(recovery.job, settings).value());
  };
  const int units = count(recovery, CommScope::kShard);
  EXPECT_GT(units, 0);
  EXPECT_EQ(count(recovery, CommScope::kReplicas), 0);
  // Two gathers and a reduction of each layer, one of each of what is outside; the first step may be cut.
  const Recovery kept = changed({{"reshard_after_forward", "false"}});
  EXPECT_NEAR(count(kept, CommScope::kShard), units * (2 * 8 + 2) / (3 * 8 + 2), 8);
  const Recovery hybrid = changed({{"fsdp_shard_size", "8"}});
  EXPECT_EQ(count(hybrid, CommScope::kShard), units);
  EXPECT_NEAR(count(hybrid, CommScope::kReplicas), units * (8 + 1) / (3 * 8 + 2), 8);
}

TEST(ShardedForecast, WhatTheTraceDoesNotHaveIsRefused) {
  SKIP_WITHOUT_DATA(data_path(kFolder));
  const JobFile file = read_job_file(data_path(kFolder) + "/config.json").value();
  for (const JobSetting& setting :
       std::vector<JobSetting>{{"data_parallel_sharding_strategy", "no_shard"}, {"tensor_model_parallel_size", "2"}}) {
    const auto target = change_job(file.job, {setting});
    ASSERT_TRUE(target);
    const Status allowed = can_forecast(file.job, *target);
    ASSERT_FALSE(allowed);
    EXPECT_NE(allowed.error().message.find(setting.first), std::string::npos) << allowed.error().message;
  }
}

}  // namespace
}  // namespace lumos

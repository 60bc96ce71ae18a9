#include "lumos/search/shard.h"

#include <gtest/gtest.h>

#include <map>

namespace lumos {
namespace {

Environment environment(std::map<std::string, std::string> variables) {
  return [variables](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(std::string(name));
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

Shard automatic(std::map<std::string, std::string> variables) {
  const Result<Shard> shard = parse_shard("auto", environment(std::move(variables)));
  EXPECT_TRUE(shard) << shard.error().message;
  return shard.value_or(Shard{0, 0});
}

TEST(ShardText, IsAPartAndANumberOfParts) {
  EXPECT_EQ(parse_shard("2/8").value(), (Shard{2, 8}));
  for (const char* wrong : {"", "2", "0/8", "9/8", "2/0", "2/8x", "a/b", "-1/8"})
    EXPECT_FALSE(parse_shard(wrong)) << wrong;
}

TEST(ShardText, AutoFindsEachLauncher) {
  EXPECT_EQ(automatic({{"RANK", "1"}, {"WORLD_SIZE", "4"}}), (Shard{2, 4}));
  EXPECT_EQ(automatic({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), (Shard{1, 4}));
  EXPECT_EQ(automatic({{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}}), (Shard{4, 4}));
}

TEST(ShardText, AutoFindsASlurmArrayOfAnyRange) {
  EXPECT_EQ(automatic({{"SLURM_ARRAY_TASK_ID", "14"},
                       {"SLURM_ARRAY_TASK_MIN", "10"},
                       {"SLURM_ARRAY_TASK_MAX", "18"},
                       {"SLURM_ARRAY_TASK_STEP", "4"},
                       {"SLURM_ARRAY_TASK_COUNT", "3"},
                       {"SLURM_PROCID", "0"}}),
            (Shard{2, 3}));
}

TEST(ShardText, AutoDealsAnArraysTasksToTheirSteps) {
  EXPECT_EQ(automatic({{"SLURM_ARRAY_TASK_ID", "1"},
                       {"SLURM_ARRAY_TASK_MIN", "0"},
                       {"SLURM_ARRAY_TASK_MAX", "2"},
                       {"SLURM_ARRAY_TASK_COUNT", "3"},
                       {"SLURM_PROCID", "1"},
                       {"SLURM_STEP_NUM_TASKS", "2"}}),
            (Shard{4, 6}));
}

TEST(ShardText, AutoRefusesWhatItCannotKnow) {
  EXPECT_FALSE(parse_shard("auto", environment({})));
  EXPECT_FALSE(parse_shard("auto", environment({{"RANK", "one"}, {"WORLD_SIZE", "4"}})));
  EXPECT_FALSE(parse_shard("auto", environment({{"SLURM_ARRAY_TASK_ID", "3"},
                                                {"SLURM_ARRAY_TASK_MIN", "1"},
                                                {"SLURM_ARRAY_TASK_MAX", "7"},
                                                {"SLURM_ARRAY_TASK_COUNT", "3"}})));
}

TEST(Shard, EveryPositionBelongsToOnePart) {
  for (size_t position = 0; position < 20; ++position) {
    int owners = 0;
    for (int64_t index = 1; index <= 3; ++index) owners += Shard{index, 3}.has(position);
    EXPECT_EQ(owners, 1);
  }
}

TEST(Shard, ThePartsPathNamesIt) {
  EXPECT_EQ(shard_path("out.d/results.jsonl", {2, 8}), "out.d/results.2-of-8.jsonl");
  EXPECT_EQ(shard_path("out.d/results", {2, 8}), "out.d/results.2-of-8");
}

}  // namespace
}  // namespace lumos

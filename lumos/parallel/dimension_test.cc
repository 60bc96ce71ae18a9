#include "lumos/parallel/dimension.h"

#include <gtest/gtest.h>

#include <set>

namespace lumos {
namespace {

TEST(Dimension, NamesAndSettingsAreUnique) {
  std::set<std::string_view> names, settings;
  for (const DimensionRow& row : dimension_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    if (!row.setting.empty()) EXPECT_TRUE(settings.insert(row.setting).second) << row.setting;
  }
  EXPECT_EQ(find_dimension("pp"), Dimension::kPipeline);
  EXPECT_EQ(find_dimension("xp"), std::nullopt);
}

TEST(Dimension, TheLongestWordTellsWhoseGroupItIs) {
  EXPECT_EQ(dimension_of_group("TENSOR_MODEL_PARALLEL_GROUP"), Dimension::kTensor);
  EXPECT_EQ(dimension_of_group("DATA_PARALLEL_GROUP_WITH_CP"), Dimension::kData);
  EXPECT_EQ(dimension_of_group("DATA_PARALLEL_GROUP"), Dimension::kData);
  EXPECT_EQ(dimension_of_group("mesh_dp_shard"), Dimension::kShard);
  EXPECT_EQ(dimension_of_group("mesh_dp_replicate"), Dimension::kReplicate);
  EXPECT_EQ(dimension_of_group("MODEL_PARALLEL_GROUP"), std::nullopt);
}

TEST(Dimension, SetsHoldWhatWasPutIn) {
  const DimensionSet both = {Dimension::kTensor, Dimension::kPipeline};
  EXPECT_TRUE(both.has(Dimension::kPipeline));
  EXPECT_FALSE(both.has(Dimension::kData));
  EXPECT_EQ(DimensionSet(Dimension::kTensor).with(Dimension::kPipeline), both);
  EXPECT_TRUE(DimensionSet().empty());
}

}  // namespace
}  // namespace lumos

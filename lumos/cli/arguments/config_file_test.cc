#include "lumos/cli/arguments/config_file.h"

#include <gtest/gtest.h>

#include "lumos/base/test_data.h"

namespace lumos {
namespace {

const std::string kClusters = source_path("configs/clusters");

std::string error_of(const Result<std::string>& found) { return found ? "" : found.error().message; }

TEST(FindConfig, NamesAndPaths) {
  EXPECT_EQ(*find_config_in({kClusters}, "clusters", "dgx-h100"), kClusters + "/dgx-h100.toml");
  EXPECT_EQ(*find_config_in({}, "clusters", kClusters + "/dgx-h100.toml"), kClusters + "/dgx-h100.toml");
}

TEST(FindConfig, AnUnknownNameListsTheKnownOnes) {
  const auto found = find_config_in({kClusters}, "clusters", "dgx-h1000");
  EXPECT_NE(error_of(found).find("no cluster of that name; there are dgx-a100, "), std::string::npos);
}

// A program that was moved away from its configs/.
TEST(FindConfig, WithoutFoldersItSaysWhereTheyShouldBe) {
  for (const char* kind : {"clusters", "jobs"}) {
    const std::string message = error_of(find_config_in({}, kind, "dgx-h100"));
    for (const char* part : {"dgx-h100", kind, "beside the program", "share/lumos", "LUMOS_CONFIGS"})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  // Who gives a path knows where it should be.
  EXPECT_EQ(error_of(find_config_in({}, "clusters", "no/such.toml")).find("LUMOS_CONFIGS"), std::string::npos);
}

}  // namespace
}  // namespace lumos

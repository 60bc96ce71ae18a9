#include "lumos/base/suggest.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(Suggest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest("repaly", {"inspect", "replay", "report"}), "replay");
  EXPECT_EQ(nearest("inspct", {"inspect", "replay"}), "inspect");
}

TEST(Suggest, SaysNothingRatherThanSomethingFar) {
  EXPECT_EQ(nearest("frobnicate", {"inspect", "replay"}), "");
  EXPECT_EQ(nearest("replay", {}), "");
}

}  // namespace
}  // namespace lumos

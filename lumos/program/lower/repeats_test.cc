#include "lumos/program/lower/repeats.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lumos {
namespace {

using Repeats = std::vector<Repeat>;

TEST(Repeats, RunsOfOneKernelAreUnitsOfOne) { EXPECT_EQ(find_repeats({7, 7, 7, 8}), (Repeats{{0, 1, 3}, {3, 1, 1}})); }

TEST(Repeats, FindsTheUnitOfKernelsThatTakeTurns) {
  EXPECT_EQ(find_repeats({9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 8}), (Repeats{{0, 1, 1}, {1, 3, 3}, {10, 1, 1}}));
  EXPECT_EQ(find_repeats({1, 1, 2, 1, 1, 2}), (Repeats{{0, 3, 2}}));
}

TEST(Repeats, NothingHasNone) { EXPECT_TRUE(find_repeats({}).empty()); }

RC_GTEST_PROP(Repeats, CoverTheSequenceInOrder, (const std::vector<bool>& bits)) {
  const std::vector<uint64_t> shapes(bits.begin(), bits.end());
  size_t at = 0;
  for (const Repeat& repeat : find_repeats(shapes)) {
    RC_ASSERT(repeat.begin == at);
    at = repeat.end();
    RC_ASSERT(at <= shapes.size());
    for (size_t i = repeat.begin + repeat.unit; i < at; ++i) RC_ASSERT(shapes[i] == shapes[i - repeat.unit]);
  }
  RC_ASSERT(at == shapes.size());
}

}  // namespace
}  // namespace lumos

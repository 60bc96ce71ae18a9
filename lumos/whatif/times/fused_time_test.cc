#include "lumos/whatif/times/fused_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lumos {
namespace {

TEST(FusedTime, AChainReadsAndWritesOnce) {
  // Three kernels that read and write a megabyte each become one that does so once.
  const std::vector<FusedPart> chain(3, {25'000, 5'000, 1 << 20, 1 << 20});
  EXPECT_EQ(fused_ns(chain), 25'000);
}

TEST(FusedTime, WhatOthersReadFromOutsideIsReadStill) {
  // x + y, then times z: six megabytes become four.
  const std::vector<FusedPart> parts(2, {35'000, 5'000, 2 << 20, 1 << 20});
  EXPECT_EQ(fused_ns(parts), 45'000);
}

TEST(FusedTime, WithoutBytesItIsAsLongAsTheLongest) {
  EXPECT_EQ(fused_ns({{30, 5, 0, 0}, {40, 5, 8, 8}}), 40);
  EXPECT_EQ(fused_ns({}), 0);
}

RC_GTEST_PROP(FusedTime, BetweenTheLongestAndAllTogether, ()) {
  const auto parts = *rc::gen::container<std::vector<FusedPart>>(
      rc::gen::build<FusedPart>(rc::gen::set(&FusedPart::duration_ns, rc::gen::inRange<int64_t>(0, 100'000)),
                                rc::gen::set(&FusedPart::floor_ns, rc::gen::inRange<int64_t>(0, 10'000)),
                                rc::gen::set(&FusedPart::input_bytes, rc::gen::inRange<int64_t>(0, 1 << 24)),
                                rc::gen::set(&FusedPart::output_bytes, rc::gen::inRange<int64_t>(0, 1 << 24))));
  int64_t longest = 0, all = 0;
  for (const FusedPart& part : parts) {
    longest = std::max(longest, part.duration_ns);
    all += part.duration_ns;
  }
  RC_ASSERT(fused_ns(parts) >= longest);
  RC_ASSERT(fused_ns(parts) <= all);
}

}  // namespace
}  // namespace lumos

#include "lumos/model/kernels/grown_kernel.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lumos {
namespace {

TEST(GrownKernel, AFixedPartStaysAndTheRestGrows) {
  const MeasuredKernel kernel{25, 5, 40, 0.1, false};
  EXPECT_DOUBLE_EQ(grown_us(kernel, 4, 4), 85);
  EXPECT_DOUBLE_EQ(grown_us(kernel, 0.25, 0.25), 10);
}

TEST(GrownKernel, BlocksThatFindRoomTakeNoLonger) {
  const MeasuredKernel kernel{12, 8, 0.02, 0.1, false};
  EXPECT_DOUBLE_EQ(grown_us(kernel, 4, 4), 12);
  EXPECT_DOUBLE_EQ(grown_us(kernel, 10, 10), 16);
}

TEST(GrownKernel, TilesRunInRounds) {
  // Half a round becomes two: the second half of the first was free.
  const MeasuredKernel kernel{18, 8, 0.5, 1, true};
  EXPECT_DOUBLE_EQ(grown_us(kernel, 4, 4), 28);
  // A sum over more samples has as many tiles, each of which takes longer.
  EXPECT_DOUBLE_EQ(grown_us(kernel, 4, 1), 48);
}

RC_GTEST_PROP(GrownKernel, MoreWorkNeverTakesLessAndEqualWorkTakesTheSame, ()) {
  MeasuredKernel kernel;
  kernel.us = *rc::gen::inRange(1, 10'000);
  kernel.floor_us = *rc::gen::inRange(0, 20);
  kernel.waves = *rc::gen::inRange(0, 1000) / 10.0;
  kernel.in_rounds = *rc::gen::arbitrary<bool>();
  kernel.full_waves = kernel.in_rounds ? 1 : 0.1;
  RC_ASSERT(grown_us(kernel, 1, 1) == kernel.us);
  const double less = *rc::gen::inRange(1, 100) / 10.0, more = less + *rc::gen::inRange(0, 100) / 10.0;
  RC_ASSERT(grown_us(kernel, less, less) <= grown_us(kernel, more, more) * (1 + 1e-12));
  RC_ASSERT(grown_us(kernel, less, 1) <= grown_us(kernel, more, 1) * (1 + 1e-12));
  RC_ASSERT(grown_us(kernel, less, less) >= std::min(kernel.us, kernel.floor_us));
}

}  // namespace
}  // namespace lumos

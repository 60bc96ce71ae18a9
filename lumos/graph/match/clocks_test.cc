#include "lumos/graph/match/clocks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>

namespace lumos {
namespace {

constexpr int64_t kUs = 1000;
constexpr int64_t kSecond = 1'000'000'000;

struct TrueClock {
  int64_t offset_ns;
  double drift;
};

int64_t read_clock(const TrueClock& clock, int64_t time_ns) {
  return time_ns + clock.offset_ns + static_cast<int64_t>(clock.drift * double(time_ns - kSecond));
}

TEST(Clocks, LineIgnoresWildPoints) {
  std::vector<int64_t> x, y;
  for (int64_t i = 0; i < 100; ++i) {
    x.push_back(i * 10'000'000);
    y.push_back(i % 5 == 0 ? 77 * kSecond : 250 * kUs + i * 50);
  }
  const RobustLine line = fit_line(x, y, 0);
  EXPECT_NEAR(line.at_pivot, 250 * kUs, 10);
  EXPECT_NEAR(line.slope, 5e-6, 1e-8);
}

TEST(Clocks, RanksWithoutSharedCollectivesStayUnknown) {
  ClockSamples samples;
  samples.ends = {{1, 100}, {2, 130}};
  samples.begin = {0, 2};
  const auto clocks = estimate_clocks(3, samples, 0);
  EXPECT_TRUE(clocks[0].known);
  EXPECT_FALSE(clocks[1].known);
  EXPECT_FALSE(clocks[2].known);
  // Among themselves they are aligned all the same.
  EXPECT_EQ(clocks[1].to_reference(42), 42);
  EXPECT_EQ(clocks[2].to_reference(72), 42);
}

// Groups of neighbours only: the last rank's clock is known through all that lie between.
RC_GTEST_PROP(Clocks, OffsetAndDriftAreFoundThroughChainsOfGroups, ()) {
  const uint32_t ranks = *rc::gen::inRange<uint32_t>(2, 9);
  std::mt19937_64 random(*rc::gen::arbitrary<uint32_t>());
  std::vector<TrueClock> truth(ranks, TrueClock{0, 0});
  for (uint32_t r = 1; r < ranks; ++r) {
    truth[r] = {static_cast<int64_t>(random() % (4 * kSecond)) - 2 * kSecond, (double(random() % 200) - 100) * 1e-7};
  }
  ClockSamples samples;
  for (int64_t time = 0; time < 2 * kSecond; time += 11'000'003) {
    for (uint32_t r = 0; r + 1 < ranks; ++r) {
      for (uint32_t member : {r, r + 1}) {
        int64_t noise = static_cast<int64_t>(random() % (2 * kUs));
        if (random() % 10 == 0) noise += 500 * kUs;  // one end in ten is late by far
        samples.ends.push_back({member, read_clock(truth[member], time) + noise});
      }
      samples.begin.push_back(static_cast<uint32_t>(samples.ends.size()));
    }
  }
  const auto clocks = estimate_clocks(ranks, samples, kSecond);
  for (uint32_t r = 0; r < ranks; ++r) {
    RC_ASSERT(clocks[r].known);
    RC_ASSERT(std::abs(clocks[r].offset_ns - truth[r].offset_ns) < 10 * kUs);
    RC_ASSERT(std::abs(clocks[r].drift - truth[r].drift) < 5e-6);
  }
}

}  // namespace
}  // namespace lumos

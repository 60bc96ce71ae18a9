#include "lumos/graph/constants.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace lumos {
namespace {

TEST(Constants, TheMiddleIsNotMovedByStrays) {
  std::vector<int64_t> samples;
  for (int i = 0; i < 101; ++i) samples.push_back(5000 + 10 * (i % 11));
  const int64_t clean = middle_mean(samples);
  for (int i = 0; i < 30; ++i) samples.push_back(4'000'000'000 + i);
  EXPECT_NEAR(static_cast<double>(middle_mean(samples)), static_cast<double>(clean), 30);
}

TEST(Constants, TheMiddleIsAMeanSoThatSumsStayRight) {
  EXPECT_EQ(middle_mean({1000, 1000, 1000, 1600, 1600}), 1240);  // not the median
  EXPECT_EQ(middle_mean({-300, -100, -200}), -200);
  EXPECT_EQ(middle_mean({7}), 7);
  EXPECT_EQ(middle_mean({}), 0);
}

TEST(Constants, TheMiddleLiesAmongTheSamples) {
  EXPECT_TRUE(rc::check([](const std::vector<int32_t>& values) {
    RC_PRE(!values.empty());
    const std::vector<int64_t> samples(values.begin(), values.end());
    const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
    const int64_t mean = middle_mean(samples);
    RC_ASSERT(mean >= *low);
    RC_ASSERT(mean <= *high);
    std::vector<int64_t> reversed(samples.rbegin(), samples.rend());
    RC_ASSERT(middle_mean(reversed) == mean);
  }));
}

TEST(Constants, FitterKeepsNamesApartAndCounts) {
  ConstantFitter fitter;
  fitter.add("b", 10);
  fitter.add("a", 1);
  fitter.add("b", 20);
  const std::vector<Constant> constants = fitter.fit();
  ASSERT_EQ(constants.size(), 2u);
  EXPECT_EQ(constants[0].name, "a");
  EXPECT_EQ(constants[1].value_ns, 15);
  EXPECT_EQ(constants[1].samples, 2u);
}

TEST(Constants, LookUpFallsBackToThePooledFitAndThenToTheDefault) {
  const ConstantTable table({{"launch:cudaLaunchKernel", 10, 1}, {"launch", 20, 2}, {"event", 30, 1}});
  EXPECT_EQ(table.value("launch:cudaLaunchKernel", 1), 10);
  EXPECT_EQ(table.value("launch:cuLaunchKernel", 1), 20);
  EXPECT_EQ(table.value("event", 1), 30);
  EXPECT_EQ(table.value("dispatch:stream 7", 1), 1);
}

}  // namespace
}  // namespace lumos

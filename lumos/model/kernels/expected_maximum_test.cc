#include "lumos/model/kernels/expected_maximum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace lumos {
namespace {

/// Integral from 0 of 1 - F(x)^n - (1 - F(x))^n, with F the normal distribution: the definition, by trapezia.
double integrated(int64_t n) {
  constexpr double kStep = 1.0 / 64, kEnd = 10;
  const auto count = static_cast<double>(n);
  const auto share = [&](double x) {
    const double above = 0.5 * std::erfc(x / std::sqrt(2.0));
    return -std::expm1(count * std::log1p(-above)) - std::pow(above, count);
  };
  double sum = share(0) / 2;
  for (double x = kStep; x < kEnd; x += kStep) sum += share(x);
  return sum * kStep;
}

TEST(ExpectedMaximum, IsWhatTablesSay) {
  // Harter 1961, "Expected values of normal order statistics", Biometrika 48, table 1; 1000 from Tippett 1925, "On the
  // extreme individuals and the range of samples taken from a normal population", Biometrika 17: half the mean range.
  const std::pair<int64_t, double> known[] = {{2, 0.56419},  {3, 0.84628},   {4, 1.02938},
                                              {8, 1.42360},  {16, 1.76599},  {32, 2.06967},
                                              {64, 2.34373}, {100, 2.50759}, {1000, 3.24144}};
  for (const auto& [n, value] : known) EXPECT_NEAR(expected_maximum(n) / value, 1, 0.005) << n;
  for (int64_t few : {2, 3, 4, 8, 16}) EXPECT_NEAR(expected_maximum(few), integrated(few), 2e-5) << few;
}

TEST(ExpectedMaximum, IsTheIntegralForAnyNumber) {
  for (int64_t n = 2; n <= 1'000'000; n += 1 + n / 8) EXPECT_NEAR(expected_maximum(n) / integrated(n), 1, 0.005) << n;
}

TEST(ExpectedMaximum, GrowsWithTheNumber) {
  EXPECT_EQ(expected_maximum(-1), 0);
  EXPECT_EQ(expected_maximum(0), 0);
  EXPECT_EQ(expected_maximum(1), 0);
  for (int64_t n = 1; n < 2000; ++n) EXPECT_LT(expected_maximum(n), expected_maximum(n + 1)) << n;
  EXPECT_TRUE(std::isfinite(expected_maximum(INT64_MAX)));
}

}  // namespace
}  // namespace lumos

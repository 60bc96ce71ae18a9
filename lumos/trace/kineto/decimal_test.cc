#include "lumos/trace/kineto/decimal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace lumos {
namespace {

TEST(Decimal, MicrosecondsOfEveryProducerAreExactNanoseconds) {
  EXPECT_EQ(parse_us_as_ns("0"), 0);
  EXPECT_EQ(parse_us_as_ns("1669783687389292"), 1669783687389292000);      // absolute integer
  EXPECT_EQ(parse_us_as_ns("1419247333923.777"), 1419247333923777);        // relative, three places
  EXPECT_EQ(parse_us_as_ns("1704161511420306.491"), 1704161511420306491);  // 19 digits: a double says ...500
  EXPECT_EQ(parse_us_as_ns("7.6"), 7600);
  EXPECT_EQ(parse_us_as_ns("7.60"), 7600);
  EXPECT_EQ(parse_us_as_ns("-1"), -1000);
  EXPECT_EQ(parse_us_as_ns("-0.5"), -500);
  EXPECT_EQ(parse_us_as_ns("12.77012757357446"), 12770);
  EXPECT_EQ(parse_us_as_ns("0.0005"), 1);
  EXPECT_EQ(parse_us_as_ns("-0.0005"), -1);
  EXPECT_EQ(parse_us_as_ns("0.00049999999999999999999999999999999999999999999"), 0);
  EXPECT_EQ(parse_us_as_ns("1.5e3"), 1500000);
  EXPECT_EQ(parse_us_as_ns("1.704161511420306E+15"), 1704161511420306000);
  EXPECT_EQ(parse_us_as_ns("25e-3"), 25);
}

TEST(Decimal, WhatIsNoNumberOrDoesNotFitIsNothing) {
  for (const char* token :
       {"", "-", ".", "abc", "1a", "1.2.3", "e5", "1e", "1e9999", "nan", "--1", "1 ", "9223372036854775.808",
        "18446744073709551615", "99999999999999999999999999999999999999999999"}) {
    EXPECT_EQ(parse_us_as_ns(token), std::nullopt) << token;
  }
  EXPECT_EQ(parse_us_as_ns("9223372036854775.807"), INT64_MAX);
}

TEST(Decimal, IntegersMayBeWrittenAsDecimalsAndMayNotFit) {
  EXPECT_EQ(parse_int("42"), 42);
  EXPECT_EQ(parse_int("-7"), -7);
  EXPECT_EQ(parse_int("42.9"), 42);
  EXPECT_EQ(parse_int("4e2"), 400);
  EXPECT_EQ(parse_int("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_int("15514734831341844875"), std::nullopt);
  EXPECT_EQ(parse_int("stream 7"), std::nullopt);
}

RC_GTEST_PROP(DecimalProperty, NanosecondsSurviveBeingWrittenAsMicroseconds, ()) {
  auto ns = *rc::gen::inRange<int64_t>(INT64_MIN / 2, INT64_MAX / 2);
  int64_t magnitude = ns < 0 ? -ns : ns;
  std::string text = fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", magnitude / 1000, magnitude % 1000);
  RC_ASSERT(parse_us_as_ns(text) == ns);
  RC_ASSERT(parse_us_as_ns(text + "000") == ns);
}

}  // namespace
}  // namespace lumos

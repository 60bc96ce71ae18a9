#include "lumos/trace/kineto/repair.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

struct Case {
  std::string name;
  std::string damaged;
  std::string repaired;
  Damage damage;
};

class Repair : public testing::TestWithParam<Case> {};

TEST_P(Repair, MakesTheEventWellFormedAndCountsOnce) {
  DamageCounts damage;
  std::string out;
  ASSERT_TRUE(repair_event(GetParam().damaged, 1000, out, damage));
  EXPECT_EQ(out, GetParam().repaired);
  EXPECT_EQ(damage.count(GetParam().damage), 1u);
  ASSERT_EQ(damage.issues().size(), 1u);
  EXPECT_GE(damage.issues()[0].first_byte, 1000u);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Repair,
    testing::Values(
        Case{"ControlByte", "{\"name\": \"a\x01z\", \"ts\": 1}", R"({"name":"a z","ts":1})", Damage::kControlByte},
        Case{"LineBreakInText", "{\"name\": \"a\nz\", \"ts\": 1}", R"({"name":"a z","ts":1})", Damage::kControlByte},
        Case{"InvalidUtf8", "{\"name\": \"a\xff\"}", "{\"name\":\"a\xef\xbf\xbd\"}", Damage::kInvalidUtf8},
        Case{"BareQuote", R"({"name": "a "b c", "ts": 1})", R"({"name":"a \"b c","ts":1})", Damage::kBareQuote},
        Case{"WindowsPath", R"({"name": "C:\Users", "ts": 1})", R"({"name":"C:\\Users","ts":1})",
             Damage::kBareBackslash},
        Case{"BackslashBeforeClosingQuote", R"({"name": "C:\", "ts": 1})", R"({"name":"C:\\","ts":1})",
             Damage::kBareBackslash},
        Case{"MissingClosingQuote", R"({"name": "abc, "ts": 1})", R"({"name":"abc","ts":1})", Damage::kMissingQuote},
        Case{"MissingClosingQuoteAtLineEnd", "{\"name\": \"abc,\n \"ts\": 1}", R"({"name":"abc","ts":1})",
             Damage::kMissingQuote},
        Case{"MissingOpeningQuote", R"({"name": xyz", "ts": 1})", R"({"name":"xyz","ts":1})", Damage::kMissingQuote},
        Case{"MissingQuoteOfKey", R"({"name: "abc", "ts": 1})", R"({"name":"abc","ts":1})", Damage::kMissingQuote},
        Case{"TrailingComma", R"({"args": {"a": [1, 2]}, })", R"({"args":{"a":[1,2]}})", Damage::kTrailingComma},
        Case{"TrailingCommaInList", R"({"a": [1, 2, ]})", R"({"a":[1,2]})", Damage::kTrailingComma},
        Case{"NotANumber", R"({"a": NaN, "ts": 1})", R"({"a":null,"ts":1})", Damage::kNotFinite},
        Case{"NegativeInfinity", R"({"a": -Infinity})", R"({"a":null})", Damage::kNotFinite}),
    [](const auto& info) { return info.param.name; });

TEST(RepairEvent, LeavesAWellFormedEventAsItIs) {
  DamageCounts damage;
  std::string out;
  std::string text = R"({"ph":"X","name":"a \"b\" \\ \u00e9","args":{"a":[1,-2.5e3,"x"],"b":{}},"n":null})";
  ASSERT_TRUE(repair_event(text, 0, out, damage));
  EXPECT_EQ(out, text);
  EXPECT_TRUE(damage.issues().empty());
}

TEST(RepairEvent, MakesNothingUpWhereTheTextBreaksOff) {
  std::string text = R"({"ph": "X", "name": "abc", "args": {"a": [1, 2], "b": "x"}})";
  for (size_t cut = 0; cut < text.size(); ++cut) {
    DamageCounts damage;
    std::string out;
    EXPECT_FALSE(repair_event(text.substr(0, cut), 0, out, damage)) << cut;
    EXPECT_TRUE(damage.issues().empty());
  }
}

TEST(RepairEvent, DeepNestingIsRefusedNotFollowed) {
  DamageCounts damage;
  std::string out;
  EXPECT_FALSE(repair_event("{\"a\":" + std::string(100000, '['), 0, out, damage));
}

TEST(ReplaceInvalidUtf8, KeepsWhatIsValid) {
  EXPECT_EQ(replace_invalid_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
  EXPECT_EQ(replace_invalid_utf8("a\xc3z\xed\xa0\x80"), "a\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace lumos

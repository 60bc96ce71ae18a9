#include "lumos/base/value.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lumos/base/json_value.h"
#include "lumos/base/toml.h"

namespace lumos {
namespace {

constexpr const char* kJob = R"(num_layers = 48
[optimizer]
name = "adam"
betas = [0.9, 0.95]
distributed = true
)";

TEST(Value, TomlGivesTheSameTreeAsJson) {
  const Value from_toml = parse_toml(kJob, "job.toml").value();
  const Value from_json =
      parse_json(R"({"num_layers":48,"optimizer":{"betas":[0.9,0.95],"distributed":true,"name":"adam"}})", "job.json")
          .value();
  const ValueView a(from_toml, "job.toml"), b(from_json, "job.json");
  EXPECT_EQ(a.at("num_layers").as_int().value(), b.at("num_layers").as_int().value());
  EXPECT_EQ(*a.at("optimizer").value(), *b.at("optimizer").value());
}

TEST(Value, ErrorsNameFileLineAndKeyPath) {
  const Value tree = parse_toml(kJob, "job.toml").value();
  const ValueView job(tree, "job.toml");
  EXPECT_EQ(job.at("optimizer").at("name").as_int().error().message,
            "job.toml:3: optimizer.name: must be an integer, not \"adam\"");
  EXPECT_EQ(job.at("optimizer").at("lr").as_double().error().message, "job.toml: optimizer.lr: missing; give a number");
  EXPECT_EQ(job.at("optimizer").at("betas").items().value()[1].as_bool().error().message,
            "job.toml:4: optimizer.betas[1]: must be true or false, not 0.95");
  EXPECT_EQ(job.at("optimizer").at("name").as_int().error().kind, ErrorKind::kUsage);
}

TEST(Value, DefaultsStandInForMissingAndNullButNotForWrongKinds) {
  const Value tree = parse_json(R"({"a":null,"b":"text"})", "x").value();
  const ValueView view(tree, "x");
  EXPECT_EQ(view.at("a").int_or(7).value(), 7);
  EXPECT_EQ(view.at("nowhere").at("deeper").string_or("z").value(), "z");
  EXPECT_FALSE(view.at("b").int_or(7).has_value());
}

TEST(Value, WholeDoublesAreIntegersAndOthersAreNot) {
  const Value tree = parse_json(R"([1e9, 1.5, 9.3e18, 18446744073709551615])", "x").value();
  const auto items = ValueView(tree, "x").items().value();
  EXPECT_EQ(items[0].as_int().value(), 1000000000);
  EXPECT_FALSE(items[1].as_int().has_value());
  EXPECT_FALSE(items[2].as_int().has_value());
  EXPECT_EQ(items[3].as_double().value(), 18446744073709551616.0);
}

TEST(Value, UnknownKeysAreErrorsThatSuggestTheNearestKnownOne) {
  const Value tree = parse_toml("nmu_layers = 3\n", "job.toml").value();
  const ValueView job(tree, "job.toml");
  EXPECT_EQ(job.only_keys({"num_layers", "hidden_size"}).error().message,
            "job.toml:1: nmu_layers: no such key; did you mean 'num_layers'?");
  EXPECT_EQ(job.only_keys({"seq"}).error().message, "job.toml:1: nmu_layers: no such key");
}

TEST(Value, MalformedTextIsAnErrorThatSaysWhere) {
  EXPECT_EQ(parse_toml("a = 1\nb = \n", "job.toml").error().message.substr(0, 11), "job.toml:2:");
  EXPECT_FALSE(parse_json("{\"a\":", "x.json").has_value());
  EXPECT_FALSE(parse_json("", "x.json").has_value());
}

TEST(Value, RepeatedJsonKeysKeepTheLast) {
  const Value tree = parse_json(R"({"a":1,"a":2})", "x").value();
  EXPECT_EQ(ValueView(tree, "x").at("a").as_int().value(), 2);
  EXPECT_EQ(tree.get<Value::Object>()->size(), 1u);
}

RC_GTEST_PROP(Value, AnyTextReadsBackFromToml, ()) {
  static const std::vector<std::string> kPieces = {"a",    "\"",      "\\",     "\"\"\"",     "'",    "#",
                                                   "=",    "\n",      "\r\n",   "\t",         "\x01", "\x1f",
                                                   "\x7f", "\\u0041", "\u00e9", "\U0001f600", " ",    ""};
  const auto chosen = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces));
  std::string text;
  for (const std::string& piece : chosen) text += piece;
  const Result<Value> tree = parse_toml("text = " + toml_text(text) + "\nnext = 1\n", "x");
  RC_ASSERT(tree.has_value());
  RC_ASSERT(ValueView(*tree, "x").at("text").as_string().value() == text);
  RC_ASSERT(ValueView(*tree, "x").at("next").as_int().value() == 1);
}

TEST(Value, DatesBecomeText) {
  const Value tree = parse_toml("day = 2024-05-27\n", "x").value();
  EXPECT_EQ(ValueView(tree, "x").at("day").as_string().value(), "2024-05-27");
}

}  // namespace
}  // namespace lumos

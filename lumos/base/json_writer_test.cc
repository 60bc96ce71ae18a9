#include "lumos/base/json_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "lumos/base/json_value.h"

namespace lumos {
namespace {

std::string compact(const Value& tree) {
  std::string out;
  JsonWriter(out, JsonWriter::Style::kCompact).value(tree);
  return out;
}

TEST(JsonWriter, PrettyKeepsInlineListsOnOneLine) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.field("schema", "x.v1");
  json.key("ranks");
  json.begin_array(JsonWriter::Layout::kInline);
  json.value(0);
  json.value(1);
  json.end_array();
  json.key("empty");
  json.begin_object();
  json.end_object();
  json.end_object();
  EXPECT_EQ(out, "{\n  \"schema\": \"x.v1\",\n  \"ranks\": [0, 1],\n  \"empty\": {}\n}");
}

TEST(JsonWriter, NumbersAreShortAndStable) {
  std::string out;
  JsonWriter json(out, JsonWriter::Style::kCompact);
  json.begin_array();
  json.value(0.1);
  json.value(std::nan(""));
  json.value(std::numeric_limits<double>::infinity());
  json.rounded(1.23456, 3);
  json.rounded(2.0, 3);
  json.rounded(-0.0001, 3);
  json.rounded(100.0, 0);
  json.thousandths(1234567);
  json.thousandths(-5);
  json.value(std::numeric_limits<uint64_t>::max());
  json.end_array();
  EXPECT_EQ(out, "[0.1,null,null,1.235,2,0,100,1234.567,-0.005,18446744073709551615]");
}

TEST(JsonWriter, EscapesWhatJsonForbidsAndReplacesBadUtf8) {
  std::string out;
  JsonWriter(out).value(std::string_view("a\"b\\c\n\x01 \xC3\xA9 \xFF \xC0\x80 \xED\xA0\x80", 19));
  EXPECT_EQ(
      out,
      "\"a\\\"b\\\\c\\n\\u0001 \xC3\xA9 \xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

RC_GTEST_PROP(JsonWriter, WhateverTextIsWrittenIsValidJson, (const std::string& text)) {
  std::string out;
  JsonWriter(out).value(std::string_view(text));
  RC_ASSERT(parse_json(out, "written").has_value());
}

RC_GTEST_PROP(JsonWriter, NumbersReadBackTheSame, (int64_t integer, double number)) {
  const Value tree(Value::Array{Value(integer), Value(number)});
  const Value back = parse_json(compact(tree), "written").value();
  const auto items = ValueView(back, "written").items().value();
  RC_ASSERT(items[0].as_int().value() == integer);
  RC_ASSERT(items[1].as_double().value() == number);
}

}  // namespace
}  // namespace lumos

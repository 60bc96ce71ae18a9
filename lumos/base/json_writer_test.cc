#include "lumos/base/json_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "lumos/base/json_value.h"

namespace lumos {
namespace {

TEST(JsonWriter, NestsObjectsAndArrays) {
  JsonWriter json;
  json.begin_object().member("a", 1).key("b").begin_array().value("x").value(true).null().end_array();
  json.key("c").begin_object().end_object().end_object();
  EXPECT_EQ(json.text(), R"({"a":1,"b":["x",true,null],"c":{}})");
}

TEST(JsonWriter, PrettyKeepsInlineListsOnOneLine) {
  JsonWriter json(JsonWriter::Style::kPretty);
  json.begin_object().member("schema", "x.v1").key("ranks").begin_array(JsonWriter::Layout::kInline);
  json.value(0).value(1).end_array().key("empty").begin_object().end_object().end_object();
  EXPECT_EQ(json.text(), "{\n  \"schema\": \"x.v1\",\n  \"ranks\": [0, 1],\n  \"empty\": {}\n}");
}

TEST(JsonWriter, NumbersHaveOneForm) {
  std::string out;
  for (double value : {1.5, 2.0, 100.0, -0.0000001, 0.1234567, std::numeric_limits<double>::infinity()}) {
    append_json_number(out, value, 6);
    out += ' ';
  }
  EXPECT_EQ(out, "1.5 2 100 0 0.123457 null ");
  JsonWriter json;
  json.begin_array().exact(1e-9).thousandths(1234567).thousandths(-5).value(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(json.end_array().text(), "[1e-09,1234.567,-0.005,18446744073709551615]");
}

TEST(JsonWriter, EscapesWhatJsonForbidsAndReplacesBadUtf8) {
  std::string out;
  append_json_string(out, "C:\\x \"q\"\n\x01 \xc3\xa9");
  EXPECT_EQ(out, "\"C:\\\\x \\\"q\\\"\\n\\u0001 \xc3\xa9\"");
  for (std::string_view bad : {"\xFF", "\xC0", "\x80", "\xED"}) {
    out.clear();
    append_json_string(out, bad);
    EXPECT_EQ(out, "\"\xEF\xBF\xBD\"");
  }
}

RC_GTEST_PROP(JsonWriter, WhateverTextIsWrittenIsValidJson, (const std::string& text)) {
  std::string out;
  append_json_string(out, text);
  RC_ASSERT(parse_json(out, "written").has_value());
}

RC_GTEST_PROP(JsonWriter, NumbersReadBackTheSame, (int64_t integer, double number)) {
  const std::string text = JsonWriter().value(Value(Value::Array{Value(integer), Value(number)})).text();
  const Value back = parse_json(text, "written").value();
  const auto items = ValueView(back, "written").items().value();
  RC_ASSERT(items[0].as_int().value() == integer);
  RC_ASSERT(items[1].as_double().value() == number);
}

}  // namespace
}  // namespace lumos

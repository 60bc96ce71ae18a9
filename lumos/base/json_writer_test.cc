#include "lumos/base/json_writer.h"

#include <gtest/gtest.h>

#include <limits>

namespace lumos {
namespace {

TEST(JsonWriter, NestsObjectsAndArrays) {
  JsonWriter json;
  json.begin_object().member("a", 1).key("b").begin_array().value("x").value(true).null().end_array();
  json.key("c").begin_object().end_object().end_object();
  EXPECT_EQ(json.text(), R"({"a":1,"b":["x",true,null],"c":{}})");
}

TEST(JsonWriter, EscapesWhatJsonForbidsAndKeepsUtf8) {
  std::string out;
  append_json_string(out, "C:\\x \"q\"\n\x01 \xc3\xa9");
  EXPECT_EQ(out, "\"C:\\\\x \\\"q\\\"\\n\\u0001 \xc3\xa9\"");
}

TEST(JsonWriter, NumbersHaveOneForm) {
  std::string out;
  for (double value : {1.5, 2.0, 100.0, -0.0000001, 0.1234567, std::numeric_limits<double>::infinity()}) {
    append_json_number(out, value, 6);
    out += ' ';
  }
  EXPECT_EQ(out, "1.5 2 100 0 0.123457 null ");
}

}  // namespace
}  // namespace lumos

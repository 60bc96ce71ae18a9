// JSON out: appends one document to a string, member by member, in the order of the calls. Every --json output and
// every trace that Lumos writes goes through it, so that numbers and escapes look the same everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/value.h"

namespace lumos {

/// Calls must nest properly; that they do is a CHECK. Doubles are written as the shortest text that reads back the
/// same; NaN and infinities, which JSON lacks, as null. Text that is not valid UTF-8 gets U+FFFD in place of the bad
/// bytes.
class JsonWriter {
 public:
  enum class Style : uint8_t {
    kCompact,  ///< no white space
    kPretty,   ///< two spaces per level; lists and objects begun as kInline stay on one line
  };
  enum class Layout : uint8_t { kBlock, kInline };

  explicit JsonWriter(std::string& out, Style style = Style::kPretty) : out_(out), pretty_(style == Style::kPretty) {}

  void begin_object(Layout layout = Layout::kBlock) { begin('{', layout); }
  void end_object() { end('}'); }
  void begin_array(Layout layout = Layout::kBlock) { begin('[', layout); }
  void end_array() { end(']'); }
  void key(std::string_view key);

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool flag);
  void value(double number);
  void value(int64_t number);
  void value(uint64_t number);
  void value(int32_t number) { value(static_cast<int64_t>(number)); }
  void value(uint32_t number) { value(static_cast<uint64_t>(number)); }
  void value(const Value& tree);
  void null();
  /// At most `decimals` digits after the point, trailing zeros dropped: for measured and computed quantities.
  void rounded(double number, int decimals);
  /// `units` of 1/1000 as a decimal number with three places: int64 nanoseconds as the microseconds of a trace.
  void thousandths(int64_t units);

  template <class T>
  void field(std::string_view name, const T& content) {
    key(name);
    value(content);
  }
  void rounded_field(std::string_view name, double number, int decimals) {
    key(name);
    rounded(number, decimals);
  }

 private:
  struct Level {
    char close;
    bool inline_layout;
    bool empty = true;
  };
  void begin(char open, Layout layout);
  void end(char close);
  void separate();
  void append(std::string_view token);
  void break_line();
  void quote(std::string_view text);

  std::string& out_;
  bool pretty_;
  bool after_key_ = false;
  std::vector<Level> levels_;
};

}  // namespace lumos

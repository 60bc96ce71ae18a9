// JSON out: builds one document, member by member, in the order of the calls. Every --json output and every trace that
// Lumos writes goes through it, so that the same values give the same bytes everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/value.h"

namespace lumos {

/// Appends `text` to `out` as a JSON string with quotes. Control bytes are escaped; bytes that are not valid UTF-8,
/// which damaged traces contain and JSON forbids, become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// Appends `value` with up to `decimals` places, without trailing zeros; what is not finite becomes null.
void append_json_number(std::string& out, double value, int decimals);

/// Calls nest as the document does: begin_object(), key(), value() ... end_object(). That they do is a CHECK.
class JsonWriter {
 public:
  enum class Style : uint8_t {
    kCompact,  ///< no white space
    kPretty,   ///< two spaces per level; what is begun as kInline stays on one line
  };
  enum class Layout : uint8_t { kBlock, kInline };

  explicit JsonWriter(Style style = Style::kCompact) : pretty_(style == Style::kPretty) {}

  JsonWriter& begin_object(Layout layout = Layout::kBlock) { return begin('{', layout); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array(Layout layout = Layout::kBlock) { return begin('[', layout); }
  JsonWriter& end_array() { return end(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag);
  JsonWriter& value(int64_t number);
  JsonWriter& value(uint64_t number);
  JsonWriter& value(int32_t number) { return value(static_cast<int64_t>(number)); }
  JsonWriter& value(uint32_t number) { return value(static_cast<uint64_t>(number)); }
  /// `decimals` places are kept at most: six of a millisecond are a nanosecond.
  JsonWriter& value(double number, int decimals = 6);
  JsonWriter& value(const Value& tree);
  /// The shortest text that reads back as the same number; what is not finite becomes null.
  JsonWriter& exact(double number);
  /// Int64 thousandths with three places: nanoseconds as the microseconds of a trace, at any magnitude.
  JsonWriter& thousandths(int64_t units);
  JsonWriter& null();
  /// A value that is JSON text already, as written by another JsonWriter.
  JsonWriter& raw(std::string_view json) { return token(json); }

  template <class T>
  JsonWriter& member(std::string_view name, const T& what) {
    return key(name).value(what);
  }

  /// The text so far; whole once every begin has its end.
  const std::string& text() const { return text_; }

 private:
  struct Level {
    char close;
    bool inline_layout;
    bool empty = true;
  };
  JsonWriter& begin(char open, Layout layout);
  JsonWriter& end(char close);
  JsonWriter& token(std::string_view text);
  void before_item();
  void break_line();

  std::string text_;
  bool pretty_;
  bool after_key_ = false;
  std::vector<Level> levels_;
};

}  // namespace lumos

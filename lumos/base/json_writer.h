// Writes JSON text: objects and arrays in the order in which they are added, numbers in a fixed form, so that the same
// values give the same bytes. Used by every command's --json and by the Chrome trace writer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lumos {

/// Appends `text` to `out` as a JSON string with quotes. Bytes of UTF-8 pass unchanged; control bytes are escaped.
void append_json_string(std::string& out, std::string_view text);

/// Appends `value` with up to `decimals` places, without trailing zeros; what is not finite becomes null.
void append_json_number(std::string& out, double value, int decimals);

/// Builds one document. Calls nest as the document does: begin_object(), key(), value() ... end_object().
class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
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
  JsonWriter& null();

  template <class T>
  JsonWriter& member(std::string_view name, const T& what) {
    return key(name).value(what);
  }

  /// The text so far; whole once every begin has its end.
  const std::string& text() const { return text_; }

 private:
  void separate();

  std::string text_;
  std::vector<bool> has_items_;  ///< one per open object or array
  bool after_key_ = false;
};

}  // namespace lumos

#include "lumos/base/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "lumos/base/result.h"

namespace lumos {

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  size_t clean = 0;  // Start of the run of bytes that need no escape: copied in one piece.
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, clean, i - clean);
    clean = i + 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
    }
  }
  out.append(text, clean, text.size() - clean);
  out += '"';
}

void append_json_number(std::string& out, double value, int decimals) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const size_t begin = out.size();
  fmt::format_to(std::back_inserter(out), "{:.{}f}", value, decimals);
  if (decimals > 0) {
    while (out.back() == '0') out.pop_back();
    if (out.back() == '.') out.pop_back();
  }
  if (std::string_view(out).substr(begin) == "-0") out.erase(begin, 1);
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) text_ += ',';
  has_items_.back() = true;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  text_ += '{';
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  CHECK(!has_items_.empty() && !after_key_);
  has_items_.pop_back();
  text_ += '}';
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  text_ += '[';
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  CHECK(!has_items_.empty() && !after_key_);
  has_items_.pop_back();
  text_ += ']';
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  CHECK(!after_key_);
  separate();
  append_json_string(text_, name);
  text_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(text_, text);
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  separate();
  text_ += flag ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::value(int64_t number) {
  separate();
  fmt::format_to(std::back_inserter(text_), "{}", number);
  return *this;
}

JsonWriter& JsonWriter::value(uint64_t number) {
  separate();
  fmt::format_to(std::back_inserter(text_), "{}", number);
  return *this;
}

JsonWriter& JsonWriter::value(double number, int decimals) {
  separate();
  append_json_number(text_, number, decimals);
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  text_ += "null";
  return *this;
}

}  // namespace lumos

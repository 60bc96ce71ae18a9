#include "lumos/base/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "lumos/base/utf8.h"

namespace lumos {

namespace {

void append_escape(std::string& out, unsigned char byte) {
  if (byte == '"' || byte == '\\') {
    out += '\\';
    out += static_cast<char>(byte);
  } else if (byte == '\n') {
    out += "\\n";
  } else if (byte == '\t') {
    out += "\\t";
  } else if (byte < 0x20) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
  } else {
    out += "\xEF\xBF\xBD";
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  size_t clean = 0;  // Start of the run of bytes that need no escape: copied in one piece.
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const size_t length = c < 0x80 ? 1 : utf8_length(text.substr(i, 4));
    if (c >= 0x20 && c != '"' && c != '\\' && length > 0) {
      i += length;
      continue;
    }
    out.append(text, clean, i - clean);
    append_escape(out, c);
    clean = ++i;
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

JsonWriter& JsonWriter::begin(char open, Layout layout) {
  const bool outer_inline = !levels_.empty() && levels_.back().inline_layout;
  token(std::string_view(&open, 1));
  levels_.push_back({open == '{' ? '}' : ']', outer_inline || layout == Layout::kInline});
  return *this;
}

JsonWriter& JsonWriter::end(char close) {
  CHECK(!levels_.empty() && levels_.back().close == close && !after_key_);
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && !level.inline_layout) break_line();
  text_ += close;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  CHECK(!levels_.empty() && levels_.back().close == '}' && !after_key_);
  before_item();
  append_json_string(text_, name);
  text_ += pretty_ ? ": " : ":";
  after_key_ = true;
  return *this;
}

void JsonWriter::before_item() {
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) text_ += ',';
  if (!level.inline_layout) {
    break_line();
  } else if (!level.empty && pretty_) {
    text_ += ' ';
  }
  level.empty = false;
}

void JsonWriter::break_line() {
  if (!pretty_) return;
  text_ += '\n';
  text_.append(levels_.size() * 2, ' ');
}

JsonWriter& JsonWriter::token(std::string_view text) {
  CHECK(levels_.empty() || levels_.back().close == ']' || after_key_);
  if (!after_key_) before_item();
  after_key_ = false;
  text_ += text;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  token("");
  append_json_string(text_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number, int decimals) {
  token("");
  append_json_number(text_, number, decimals);
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) { return token(flag ? "true" : "false"); }
JsonWriter& JsonWriter::null() { return token("null"); }
JsonWriter& JsonWriter::value(int64_t number) { return token(fmt::format_int(number).c_str()); }
JsonWriter& JsonWriter::value(uint64_t number) { return token(fmt::format_int(number).c_str()); }

JsonWriter& JsonWriter::exact(double number) {
  return std::isfinite(number) ? token(fmt::format("{}", number)) : null();
}

JsonWriter& JsonWriter::thousandths(int64_t units) {
  const uint64_t magnitude = units < 0 ? 0 - static_cast<uint64_t>(units) : static_cast<uint64_t>(units);
  return token(fmt::format("{}{}.{:03}", units < 0 ? "-" : "", magnitude / 1000, magnitude % 1000));
}

JsonWriter& JsonWriter::value(const Value& tree) {
  switch (tree.kind()) {
    case Value::Kind::kNull:
      return null();
    case Value::Kind::kBool:
      return value(*tree.get<bool>());
    case Value::Kind::kInt:
      return value(*tree.get<int64_t>());
    case Value::Kind::kDouble:
      return exact(*tree.get<double>());
    case Value::Kind::kString:
      return value(std::string_view(*tree.get<std::string>()));
    case Value::Kind::kArray:
      begin_array();
      for (const Value& item : *tree.get<Value::Array>()) value(item);
      return end_array();
    case Value::Kind::kObject:
      begin_object();
      for (const Value::Member& each : *tree.get<Value::Object>()) member(each.first, each.second);
      return end_object();
  }
  return *this;
}

}  // namespace lumos

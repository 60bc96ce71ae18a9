#include "lumos/base/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "lumos/base/utf8.h"

namespace lumos {

void JsonWriter::begin(char open, Layout layout) {
  separate();
  out_ += open;
  const bool outer_inline = !levels_.empty() && levels_.back().inline_layout;
  levels_.push_back({open == '{' ? '}' : ']', outer_inline || layout == Layout::kInline});
}

void JsonWriter::end(char close) {
  CHECK(!levels_.empty() && levels_.back().close == close && !after_key_);
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && !level.inline_layout) break_line();
  out_ += close;
}

void JsonWriter::key(std::string_view key) {
  CHECK(!levels_.empty() && levels_.back().close == '}' && !after_key_);
  separate();
  quote(key);
  out_ += pretty_ ? ": " : ":";
  after_key_ = true;
}

// Puts what belongs between the previous item and the next one.
void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) out_ += ',';
  if (!level.inline_layout) {
    break_line();
  } else if (!level.empty && pretty_) {
    out_ += ' ';
  }
  level.empty = false;
}

void JsonWriter::break_line() {
  if (!pretty_) return;
  out_ += '\n';
  out_.append(levels_.size() * 2, ' ');
}

void JsonWriter::append(std::string_view token) {
  CHECK(levels_.empty() || levels_.back().close == ']' || after_key_);
  separate();
  out_ += token;
}

void JsonWriter::quote(std::string_view text) {
  out_ += '"';
  size_t plain = 0;  // Start of the run that needs no escape: runs are copied at once.
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const size_t length = c < 0x80 ? 1 : utf8_length(text.substr(i));
    if (c >= 0x20 && c != '"' && c != '\\' && length > 0) {
      i += length;
      continue;
    }
    out_.append(text, plain, i - plain);
    switch (c) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\t':
        out_ += "\\t";
        break;
      default:
        if (c < 0x20) {
          fmt::format_to(std::back_inserter(out_), "\\u{:04x}", c);
        } else {
          out_ += "\xEF\xBF\xBD";
        }
    }
    plain = ++i;
  }
  out_.append(text, plain, text.size() - plain);
  out_ += '"';
}

void JsonWriter::value(std::string_view text) {
  append("");
  quote(text);
}

void JsonWriter::value(bool flag) { append(flag ? "true" : "false"); }
void JsonWriter::null() { append("null"); }
void JsonWriter::value(int64_t number) { append(fmt::format_int(number).c_str()); }
void JsonWriter::value(uint64_t number) { append(fmt::format_int(number).c_str()); }

void JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  append(fmt::format("{}", number));
}

void JsonWriter::rounded(double number, int decimals) {
  if (!std::isfinite(number)) return null();
  std::string text = fmt::format("{:.{}f}", number, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  append(text == "-0" ? "0" : text);
}

void JsonWriter::thousandths(int64_t units) {
  const uint64_t magnitude = units < 0 ? 0 - static_cast<uint64_t>(units) : static_cast<uint64_t>(units);
  append(fmt::format("{}{}.{:03}", units < 0 ? "-" : "", magnitude / 1000, magnitude % 1000));
}

void JsonWriter::value(const Value& tree) {
  switch (tree.kind()) {
    case Value::Kind::kNull:
      return null();
    case Value::Kind::kBool:
      return value(*tree.get<bool>());
    case Value::Kind::kInt:
      return value(*tree.get<int64_t>());
    case Value::Kind::kDouble:
      return value(*tree.get<double>());
    case Value::Kind::kString:
      return value(std::string_view(*tree.get<std::string>()));
    case Value::Kind::kArray:
      begin_array();
      for (const Value& item : *tree.get<Value::Array>()) value(item);
      return end_array();
    case Value::Kind::kObject:
      begin_object();
      for (const Value::Member& member : *tree.get<Value::Object>()) field(member.first, member.second);
      return end_object();
  }
}

}  // namespace lumos

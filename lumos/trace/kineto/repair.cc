#include "lumos/trace/kineto/repair.h"

#include <algorithm>
#include <cctype>

#include "lumos/base/utf8.h"
#include "lumos/trace/kineto/json_scan.h"

namespace lumos {

namespace {

constexpr int kMaxDepth = 64;  // Deeper than any argument; keeps hostile input off the stack.

constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

bool is_key_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ' ' || c == '.' || c == '-' || c == '%' ||
         c == '(' || c == ')' || c == '/';
}

/// Recursive descent that copies, and corrects what it copies.
class Repairer {
 public:
  Repairer(std::string_view text, uint64_t offset, std::string& out, DamageCounts& damage)
      : text_(text), offset_(offset), out_(out), damage_(damage) {}

  bool run() {
    space();
    return peek() == '{' && object(0);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool is_end() const { return at_ >= text_.size(); }
  void note(Damage damage) { damage_.add(damage, offset_ + at_); }

  void space() {
    while (!is_end() && (is_json_space(peek()) || (static_cast<unsigned char>(peek()) < 0x20))) {
      if (!is_json_space(peek())) note(Damage::kControlByte);
      ++at_;
    }
  }

  size_t behind_space(size_t at) const {
    while (at < text_.size() && is_json_space(text_[at])) ++at;
    return at;
  }

  /// Whether `"key":` stands at `at`.
  bool is_key_at(size_t at) const {
    if (at >= text_.size() || text_[at] != '"') return false;
    size_t begin = ++at;
    while (at < text_.size() && is_key_byte(text_[at])) ++at;
    if (at == begin || at >= text_.size() || text_[at] != '"') return false;
    at = behind_space(at + 1);
    return at < text_.size() && text_[at] == ':';
  }

  /// Whether the quote at `at` closes a value: what follows goes on as JSON, not as text.
  bool closes_value(size_t at, bool in_array) const {
    size_t next = behind_space(at + 1);
    if (next >= text_.size()) return true;
    if (text_[next] == '}' || text_[next] == ']') return true;
    if (text_[next] != ',') return false;
    next = behind_space(next + 1);
    if (next >= text_.size()) return true;
    if (in_array) return text_[next] == '"' || text_[next] == '[' || text_[next] == ']' || is_number_byte(text_[next]);
    return is_key_at(next) || text_[next] == '}';
  }

  static bool is_number_byte(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '.' || c == 't' || c == 'f' || c == 'n';
  }

  /// Whether the string must have ended before `at`, its closing quote missing: the next member begins here.
  bool next_member_begins(size_t at) const {
    if (text_[at] == ',') return is_key_at(behind_space(at + 1));
    return text_[at] == '\n' && (is_key_at(behind_space(at + 1)) || closes_line(at));
  }
  bool closes_line(size_t at) const {
    size_t next = behind_space(at + 1);
    return next < text_.size() && (text_[next] == '}' || text_[next] == ']');
  }

  bool object(int depth) {
    if (depth > kMaxDepth) return false;
    out_ += '{';
    ++at_;
    space();
    for (bool first = true; peek() != '}'; first = false) {
      if (is_end()) return false;
      if (!first) out_ += ',';
      if (!key()) return false;
      out_ += ':';
      if (!value(depth, false) || !separator('}')) return false;
    }
    out_ += '}';
    ++at_;
    return true;
  }

  bool array(int depth) {
    if (depth > kMaxDepth) return false;
    out_ += '[';
    ++at_;
    space();
    for (bool first = true; peek() != ']'; first = false) {
      if (is_end()) return false;
      if (!first) out_ += ',';
      if (!value(depth, true) || !separator(']')) return false;
    }
    out_ += ']';
    ++at_;
    return true;
  }

  /// Behind a value: a comma and the next member, or the closing bracket.
  bool separator(char closing) {
    space();
    if (peek() == closing) return true;
    if (peek() != ',') return false;
    ++at_;
    space();
    if (peek() == closing) note(Damage::kTrailingComma);
    return true;
  }

  /// A key with its colon. Either of its quotes may be missing.
  bool key() {
    if (peek() == '"') {
      ++at_;
      if (whole_key()) return true;
    } else {
      note(Damage::kMissingQuote);
    }
    size_t begin = at_;
    while (is_key_byte(peek())) ++at_;
    if (at_ == begin) return false;
    out_ += '"';
    out_ += text_.substr(begin, at_ - begin);
    out_ += '"';
    if (peek() == '"') {
      ++at_;
    } else {
      note(Damage::kMissingQuote);
    }
    return colon();
  }

  /// A key with both quotes, whatever it is made of.
  bool whole_key() {
    JsonString key;
    const char* behind = scan_string(text_.data() + at_, text_.data() + text_.size(), key);
    if (behind == nullptr) return false;
    size_t next = static_cast<size_t>(behind - text_.data());
    size_t after = behind_space(next);
    if (after >= text_.size() || text_[after] != ':') return false;
    out_ += '"';
    out_ += key.raw;
    out_ += '"';
    at_ = next;
    return colon();
  }

  bool colon() {
    space();
    if (peek() != ':') return false;
    ++at_;
    space();
    return true;
  }

  bool value(int depth, bool in_array) {
    char c = peek();
    if (c == '{') return object(depth + 1);
    if (c == '[') return array(depth + 1);
    if (c == '"') {
      ++at_;
      return string(in_array);
    }
    size_t begin = at_;
    const char* behind = scan_scalar(text_.data() + at_, text_.data() + text_.size());
    std::string_view scalar = text_.substr(begin, static_cast<size_t>(behind - text_.data()) - begin);
    std::string_view unsigned_part = scalar.substr(!scalar.empty() && scalar[0] == '-');
    if (unsigned_part == "NaN" || unsigned_part == "nan" || unsigned_part == "Infinity" || unsigned_part == "inf") {
      note(Damage::kNotFinite);
      out_ += "null";
    } else if (scalar == "true" || scalar == "false" || scalar == "null" ||
               (!unsigned_part.empty() && std::isdigit(static_cast<unsigned char>(unsigned_part[0])))) {
      out_ += scalar;
    } else if (!scalar.empty()) {
      note(Damage::kMissingQuote);
      return string(in_array);
    } else {
      return false;
    }
    at_ += scalar.size();
    return true;
  }

  /// A string from behind its opening quote.
  bool string(bool in_array) {
    out_ += '"';
    while (!is_end()) {
      char c = peek();
      if (c == '"') {
        if (closes_value(at_, in_array)) {
          ++at_;
          out_ += '"';
          return true;
        }
        note(Damage::kBareQuote);
        out_ += "\\\"";
        ++at_;
      } else if (!in_array && next_member_begins(at_)) {
        note(Damage::kMissingQuote);
        out_ += '"';
        return true;
      } else if (c == '\\') {
        escape(in_array);
      } else if (static_cast<unsigned char>(c) < 0x20) {
        note(Damage::kControlByte);
        out_ += ' ';
        ++at_;
      } else {
        out_ += c;
        ++at_;
      }
    }
    return false;
  }

  /// A backslash: kept when it escapes something, doubled when it does not.
  void escape(bool in_array) {
    char next = peek(1);
    constexpr std::string_view kEscapes = "\\/bfnrt";
    bool is_unicode = next == 'u' && std::isxdigit(static_cast<unsigned char>(peek(2))) &&
                      std::isxdigit(static_cast<unsigned char>(peek(3))) &&
                      std::isxdigit(static_cast<unsigned char>(peek(4))) &&
                      std::isxdigit(static_cast<unsigned char>(peek(5)));
    // Before a quote that closes the value it is the end of a path, "C:\dir\", and escapes nothing.
    bool is_escaped_quote = next == '"' && !closes_value(at_ + 1, in_array);
    if (next != '\0' && (kEscapes.find(next) != std::string_view::npos || is_unicode || is_escaped_quote)) {
      out_ += '\\';
      out_ += next;
      at_ += 2;
      return;
    }
    note(Damage::kBareBackslash);
    out_ += "\\\\";
    ++at_;
  }

  std::string_view text_;
  uint64_t offset_;
  std::string& out_;
  DamageCounts& damage_;
  size_t at_ = 0;
};

}  // namespace

bool repair_event(std::string_view text, uint64_t offset, std::string& out, DamageCounts& damage) {
  DamageCounts found;
  out.clear();
  out.reserve(text.size() + text.size() / 8);
  if (!Repairer(text, offset, out, found).run()) return false;
  if (!is_valid_utf8(out)) {
    found.add(Damage::kInvalidUtf8, offset);
    out = replace_invalid_utf8(out);
  }
  damage.add(found);
  return true;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  while (!text.empty()) {
    size_t length = utf8_length(text);
    if (length > 0) {
      out += text.substr(0, length);
    } else {
      out += kReplacementCharacter;
    }
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return out;
}

}  // namespace lumos

#include "lumos/trace/kineto/json_scan.h"

#include "lumos/base/utf8.h"

namespace lumos {

namespace {

constexpr uint32_t kReplacementCharacter = 0xfffd;

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Four hex digits at text[at], or -1.
int64_t hex4(std::string_view text, size_t at) {
  if (at + 4 > text.size()) return -1;
  int64_t code = 0;
  for (size_t i = at; i < at + 4; ++i) {
    int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    code = code * 16 + digit;
  }
  return code;
}

/// The character of the \u escape whose digits begin at raw[at]; moves `at` behind it, over a low surrogate too.
int64_t unicode_escape(std::string_view raw, size_t& at) {
  int64_t code = hex4(raw, at);
  if (code < 0) return -1;
  at += 4;
  bool is_high = code >= 0xd800 && code < 0xdc00;
  if (is_high && at + 1 < raw.size() && raw[at] == '\\' && raw[at + 1] == 'u') {
    int64_t low = hex4(raw, at + 2);
    if (low >= 0xdc00 && low < 0xe000) {
      at += 6;
      return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
  }
  return code >= 0xd800 && code < 0xe000 ? kReplacementCharacter : code;
}

}  // namespace

std::string unescape_json(std::string_view raw, bool& ok) {
  std::string out;
  out.reserve(raw.size());
  ok = true;
  for (size_t i = 0; i < raw.size();) {
    char c = raw[i++];
    if (c != '\\') {
      out += c;
      continue;
    }
    char kind = i < raw.size() ? raw[i++] : '\0';
    switch (kind) {
      case '"':
      case '\\':
      case '/':
        out += kind;
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        int64_t code = unicode_escape(raw, i);
        ok = ok && code >= 0;
        if (code >= 0) {
          append_utf8(out, static_cast<uint32_t>(code));
        } else {
          out += "\\u";
        }
        break;
      }
      default:
        ok = false;
        out += '\\';
        if (kind != '\0') out += kind;
    }
  }
  return out;
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = static_cast<unsigned char>(text[0]) < 0x80 ? 1 : utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace lumos

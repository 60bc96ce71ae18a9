// The few moves over JSON text that the reader is made of: skip space, find the end of a string, skip a value. All work
// inside [p, end) and return nullptr when the text breaks off or breaks the rules. Used by the splitter, the event
// parser, the repairer and the metadata reader; nobody builds a document.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace lumos {

inline bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

inline const char* skip_space(const char* p, const char* end) {
  while (p < end && is_json_space(*p)) ++p;
  return p;
}

/// The first quote, backslash or control byte in [p, end), or `end`.
inline const char* find_string_special(const char* p, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i last_control = _mm_set1_epi8(0x1f);
  while (end - p >= 16) {
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    __m128i special = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
    special = _mm_or_si128(special, _mm_cmpeq_epi8(_mm_min_epu8(bytes, last_control), bytes));
    if (int mask = _mm_movemask_epi8(special)) return p + __builtin_ctz(static_cast<unsigned>(mask));
    p += 16;
  }
#endif
  while (p < end && *p != '"' && *p != '\\' && static_cast<unsigned char>(*p) >= 0x20) ++p;
  return p;
}

/// A string value as it stands between its quotes.
struct JsonString {
  std::string_view raw;
  bool has_escapes = false;
};

/// `p` is behind the opening quote. Returns the byte behind the closing quote; nullptr at a control byte or the end.
inline const char* scan_string(const char* p, const char* end, JsonString& out) {
  const char* begin = p;
  out.has_escapes = false;
  for (;;) {
    p = find_string_special(p, end);
    if (p == end) return nullptr;
    if (*p == '"') break;
    if (*p != '\\' || end - p < 2) return nullptr;
    out.has_escapes = true;
    p += 2;
  }
  out.raw = std::string_view(begin, static_cast<size_t>(p - begin));
  return p + 1;
}

/// True for the bytes that end a number or a word: structure, quotes and space.
inline constexpr std::array<bool, 256> kEndsScalar = [] {
  std::array<bool, 256> ends{};
  for (unsigned char c : {',', '}', ']', '{', '[', ':', '"', ' ', '\n', '\t', '\r'}) ends[c] = true;
  return ends;
}();

/// A number, true, false, null, NaN or Infinity: everything up to the next structural byte or space.
inline const char* scan_scalar(const char* p, const char* end) {
  while (p < end && !kEndsScalar[static_cast<unsigned char>(*p)]) ++p;
  return p;
}

/// `p` is at '[' or '{'. Returns the byte behind its partner; the text between is only checked for its strings.
inline const char* skip_nested(const char* p, const char* end) {
  int64_t depth = 0;
  JsonString ignored;
  while (p < end) {
    char c = *p++;
    if (c == '"') {
      p = scan_string(p, end, ignored);
      if (p == nullptr) return nullptr;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      if (--depth == 0) return p;
    }
  }
  return nullptr;
}

/// The text of a string with its escapes resolved; \u escapes become UTF-8, lone surrogates U+FFFD. A backslash that
/// escapes nothing stays as it is, and `ok` turns false.
std::string unescape_json(std::string_view raw, bool& ok);

/// True when `text` is valid UTF-8.
bool is_valid_utf8(std::string_view text);

}  // namespace lumos

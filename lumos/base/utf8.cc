#include "lumos/base/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace lumos {

namespace {

/// Of a valid character.
bool is_obeyed(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;  // U+0080 to U+009F
  // U+2028 to U+202E end lines and turn the direction of writing, so do U+2066 to U+2069.
  return character.size() == 3 && byte(0) == 0xE2 &&
         ((byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE) ||
          (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9));
}

std::string shown(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<size_t>(1, length));
    if (length > 0 && (!is_obeyed(character) || kept.find(character) != std::string_view::npos)) {
      out += character;
    } else {
      for (char c : character) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return follows(1) ? 2 : 0;
  // Overlong forms, surrogates and code points beyond U+10FFFF are told by the second byte.
  if (first >= 0xE0 && first < 0xF0) {
    if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0)) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first < 0xF5) {
    if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90)) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

std::string terminal_text(std::string_view text) { return shown(text, "\n\t"); }

std::string terminal_line(std::string_view text) { return shown(text, ""); }

}  // namespace lumos

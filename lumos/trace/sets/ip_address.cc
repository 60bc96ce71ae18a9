#include "lumos/trace/sets/ip_address.h"

#include <cctype>

namespace lumos {

namespace {

constexpr size_t kGroups = 8, kMostDigits = 4;

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool goes_on(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':'; }

/// What addresses of machines begin with (RFC 4291): global unicast 2000::/3, unique local fc00::/7, link-local and
/// multicast fe80:: and ff00::. Without leading zeros to leave out, their first group always has four digits; words of
/// C++ namespaces do not look like it.
bool begins_address(std::string_view group) {
  if (group.size() != kMostDigits) return false;
  if (group[0] == '2' || group[0] == '3') return true;
  const char second = static_cast<char>(std::tolower(static_cast<unsigned char>(group[1])));
  return (group[0] == 'f' || group[0] == 'F') && second >= 'c' && second <= 'f';
}

/// The length of the address at the start of `text`, 0 if there is none.
size_t ipv6_length(std::string_view text) {
  size_t at = 0, groups = 0;
  bool abbreviated = false;
  std::string_view first;
  for (;;) {
    size_t digits = 0;
    while (at + digits < text.size() && is_hex(text[at + digits])) ++digits;
    if (digits > kMostDigits || (digits == 0 && !abbreviated)) return 0;
    if (digits > 0 && ++groups == 1) first = text.substr(0, digits);
    at += digits;
    if (digits == 0 || at >= text.size() || text[at] != ':') break;
    const bool twice = at + 1 < text.size() && text[at + 1] == ':';
    if (twice && abbreviated) return 0;
    abbreviated = abbreviated || twice;
    at += twice ? 2 : 1;
    if (!twice && (at >= text.size() || !is_hex(text[at]))) {
      --at;  // a colon of the sentence
      break;
    }
  }
  if (at < text.size() && goes_on(text[at]) && text[at] != ':') return 0;
  if (groups == kGroups && !abbreviated) return at;
  return abbreviated && groups < kGroups && begins_address(first) ? at : 0;
}

}  // namespace

TextRange find_ipv6(std::string_view text, size_t from) {
  for (size_t colon = text.find(':', from); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
    size_t begin = colon;
    while (begin > from && is_hex(text[begin - 1])) --begin;
    if (begin == colon || (begin > 0 && goes_on(text[begin - 1]))) continue;
    if (const size_t length = ipv6_length(text.substr(begin)); length > 0) return {begin, length};
  }
  return {};
}

}  // namespace lumos

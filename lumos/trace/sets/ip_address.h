// IPv6 addresses in text, written out or abbreviated, told apart from the names of C++ that also hold two colons. Used
// by trace/anonymise.
#pragma once

#include <cstddef>
#include <string_view>

namespace lumos {

/// Where the first address in `text` lies at or after `from`; length 0: none. Addresses that name no machine, "::" and
/// "::1", do not count.
struct TextRange {
  size_t at = 0;
  size_t length = 0;
};
TextRange find_ipv6(std::string_view text, size_t from);

}  // namespace lumos

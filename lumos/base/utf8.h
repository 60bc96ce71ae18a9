// Which bytes are valid UTF-8 and which of them a terminal would obey, for writers that must not pass on what a damaged
// or hostile trace contained.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lumos {

/// Length in bytes (1 to 4) of the valid UTF-8 character at the start of `text`; 0 when there is none.
size_t utf8_length(std::string_view text);

/// `text` with what a terminal would obey (control characters of ASCII and Latin 1, marks that turn the direction of
/// writing) and what is no UTF-8 as "\x1b"; line ends and tabs stay.
std::string terminal_text(std::string_view text);
/// The same for text within a line: line ends and tabs are shown as well.
std::string terminal_line(std::string_view text);

}  // namespace lumos

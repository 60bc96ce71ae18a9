// Which bytes are valid UTF-8, for the writer that must not pass on what a damaged trace contained.
#pragma once

#include <cstddef>
#include <string_view>

namespace lumos {

/// Length in bytes (1 to 4) of the valid UTF-8 character at the start of `text`; 0 when there is none.
size_t utf8_length(std::string_view text);

}  // namespace lumos

// The nearest known word to a mistyped one, for "did you mean" in error messages of commands and job files.
#pragma once

#include <string_view>
#include <vector>

namespace lumos {

/// The known word with the fewest edits (insert, delete, replace, swap neighbours) from `word`, or "" when none is near
/// enough to be what was meant. Ties go to the first.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace lumos

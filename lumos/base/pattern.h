// Regular expressions that users write: compiled with a bound on their size and matched in linear time, so that no
// pattern and no name can stall or crash the program. The only place that speaks to std::regex.
#pragma once

#include <regex>
#include <string>
#include <string_view>

#include "lumos/base/result.h"

namespace lumos {

/// The expression (ECMAScript, without references back to a group). `what` names the option in the errors, which are of
/// kind kUsage.
Result<std::regex> compile_pattern(std::string_view what, const std::string& pattern);

}  // namespace lumos

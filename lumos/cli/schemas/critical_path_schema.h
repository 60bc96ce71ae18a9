// The JSON schema of `lumos critical-path --json`.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kCriticalPathSchema;

}  // namespace lumos

// The JSON schema of `lumos gains --json`.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kGainsSchema;

}  // namespace lumos

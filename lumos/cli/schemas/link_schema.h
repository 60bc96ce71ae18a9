// The JSON schema of `lumos link --json`.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kLinkSchema;

}  // namespace lumos

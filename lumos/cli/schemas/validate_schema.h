// The JSON schema of `lumos validate --json`.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kValidateSchema;

}  // namespace lumos

// The JSON schema of `lumos stragglers --json`.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kStragglersSchema;

}  // namespace lumos

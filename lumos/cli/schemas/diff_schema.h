// The JSON schema of `lumos diff --json`.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kDiffSchema;

}  // namespace lumos

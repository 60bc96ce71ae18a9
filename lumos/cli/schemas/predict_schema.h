// The JSON schema of `lumos predict --json`.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kPredictSchema;

}  // namespace lumos

// The JSON schema of `lumos estimate --json`, as data.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kEstimateSchema;

}  // namespace lumos

// The schema of `lumos search --json`.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kSearchSchema;

}  // namespace lumos

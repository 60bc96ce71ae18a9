// The JSON schema of `lumos inspect --json`, as data.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kInspectSchema;

}  // namespace lumos

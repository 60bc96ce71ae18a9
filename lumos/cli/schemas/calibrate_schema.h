// The JSON schema of `lumos calibrate --json`, as data.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kCalibrateSchema;

}  // namespace lumos

// The JSON schema of `lumos synth --json`, as data.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kSynthSchema;

}  // namespace lumos

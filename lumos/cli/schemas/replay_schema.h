// The JSON schema of `lumos replay --json`, as data.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kReplaySchema;

}  // namespace lumos

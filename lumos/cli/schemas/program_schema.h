// The JSON schema of `lumos inspect --program --json`, as data.
#pragma once

#include <string_view>

namespace lumos {

extern const std::string_view kProgramSchema;

}  // namespace lumos

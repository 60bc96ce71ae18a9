// JSON in: a small document becomes a Value tree. For traces see trace/, which never holds a whole document.
#pragma once

#include <string>
#include <string_view>

#include "lumos/base/value.h"

namespace lumos {

/// Parses one JSON document. Integers beyond int64 become doubles; of repeated keys the last wins. `source` names the
/// text in errors, which are of kind kUnreadable.
Result<Value> parse_json(std::string_view text, std::string_view source);

}  // namespace lumos

// TOML in and out: job and cluster files become a Value tree whose values know their line; text goes back quoted.
#pragma once

#include <string>
#include <string_view>

#include "lumos/base/value.h"

namespace lumos {

/// Parses a TOML document. Dates and times become text. `source` names the text in errors, which are of kind
/// kUnreadable and give the line.
Result<Value> parse_toml(std::string_view text, std::string_view source);

/// `text` in quotes, with escapes, as the right side of a line: any UTF-8 reads back as it was.
std::string toml_text(std::string_view text);

/// Reads a job, cluster or options file: JSON when its name ends in .json, else TOML.
/// Errors: kUnreadable when the file cannot be read, else as the parsers.
Result<Value> read_value_file(const std::string& path);

}  // namespace lumos

// Numbers of a trace as written: microsecond tokens to exact nanoseconds, integers that may not fit. A double would
// lose digits of absolute times (19 digits), so tokens are read as fixed point. Used by trace/kineto/event_parser and
// trace/metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lumos {

/// Microseconds ("12", "-1", "1704161511420306.491", "1.5e3") to nanoseconds, rounded half away from zero.
/// nullopt: not a number, or beyond int64.
std::optional<int64_t> parse_us_as_ns(std::string_view token);

/// An integer, or the integer part of a decimal. nullopt: not a number, or beyond int64.
std::optional<int64_t> parse_int(std::string_view token);

/// A decimal where precision does not matter (percentages). nullopt: not a number.
std::optional<double> parse_double(std::string_view token);

}  // namespace lumos

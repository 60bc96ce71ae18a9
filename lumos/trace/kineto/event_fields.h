// One trace event as the pieces of text that somebody reads, before any meaning is given to them. Made from JSON text
// by parse_event_fields, read by trace/event_parser. The pieces point into the text.
#pragma once

#include <array>
#include <string_view>

#include "lumos/trace/table/vocabulary.h"

namespace lumos {

/// A scalar as written, a string between its quotes, or a nested value as JSON text.
struct Token {
  std::string_view text;
  bool is_string = false;
  bool has_escapes = false;
};

struct EventFields {
  std::string_view text;  ///< the whole event
  Token phase, category, name, pid, tid, ts, dur, id;
  std::array<Token, kArgKeys> args;
  uint64_t present = 0;      ///< bit per ArgKey
  bool is_left_out = false;  ///< decided from its first fields: the rest is not parsed
  bool has_trailing_comma = false;
  bool has_not_finite = false;
  CategoryMeaning meaning;

  bool has(ArgKey key) const { return (present >> static_cast<unsigned>(key)) & 1; }
  /// The text of an argument, empty when it is absent.
  std::string_view arg(ArgKey key) const { return has(key) ? args[static_cast<size_t>(key)].text : std::string_view(); }
};
static_assert(kArgKeys <= 64);

/// Parses the one event in `text`, which may have commas and space around it. False when it is no well-formed object;
/// `fields` is then meaningless. Values that nobody reads are checked for balance only. `is_whole` says that the text
/// is known to end where the event does: then an event that will be left out is not parsed to its end, and is false
/// when something like another event stands there.
bool parse_event_fields(std::string_view text, bool is_whole, EventFields& fields);

}  // namespace lumos

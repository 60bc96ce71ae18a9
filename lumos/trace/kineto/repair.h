// Makes the text of one damaged event well-formed JSON again: what producers that do not escape, and disks that lose
// bytes, leave behind. Used by trace/kineto/event_parser for the events that do not parse as they are.
#pragma once

#include <string>
#include <string_view>

#include "lumos/trace/kineto/read_issue.h"

namespace lumos {

/// Rewrites the object in `text` into `out`: control bytes become spaces, bytes that are no UTF-8 become U+FFFD, bare
/// quotes and backslashes get their backslash, strings without an opening or closing quote get it, commas before a
/// closing bracket go, NaN and Infinity become null. What was done is counted in `damage` at `offset` + the place in
/// `text`. False when the text breaks off before the object ends: nothing that is not there is made up.
bool repair_event(std::string_view text, uint64_t offset, std::string& out, DamageCounts& damage);

/// `text` with every byte that is no UTF-8 as U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

}  // namespace lumos

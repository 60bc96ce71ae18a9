// What can be wrong in a trace, as an enum while reading and as text afterwards. Written by the splitter, the event
// parser and the repairer; the table builder turns the counts into TraceInfo::issues.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// Times lie within 73 years of their clock's zero, so that differences of two, moved between clocks, fit into 64 bits.
inline constexpr int64_t kLatestTimeNs = INT64_MAX / 4;

enum class Damage : uint8_t {
  // Repaired: nothing is lost.
  kControlByte,       ///< a raw control byte inside a string, read as a space
  kInvalidUtf8,       ///< bytes that are no UTF-8, read as U+FFFD
  kBareQuote,         ///< a quote inside a string without its backslash
  kBareBackslash,     ///< a backslash that escapes nothing, as in a Windows path
  kMissingQuote,      ///< a string without its opening or closing quote
  kTrailingComma,     ///< a comma before a closing bracket
  kNotFinite,         ///< NaN or Infinity where a number belongs, read as absent
  kNegativeDuration,  ///< dur < 0 (-1 marks what the profiler saw no end of), read as 0
  kAbsurdDuration,    ///< a duration of more than a day, read as 0
  kMissingDuration,   ///< a complete event without dur, read as 0
  // Skipped: counted because it is lost.
  kBrokenEvent,     ///< an event that no repair makes readable
  kNoTime,          ///< a complete event without a readable ts
  kAbsurdTime,      ///< a ts beyond kLatestTimeNs: of another unit than microseconds, or damaged
  kZeroTime,        ///< GPU work with ts 0 and dur 0: the device reported no time, so it has no place
  kForeignText,     ///< text between events that is no event
  kBadCompression,  ///< the compressed stream is cut or damaged from here on
  kCount,
};

constexpr bool is_repaired(Damage damage) { return damage < Damage::kBrokenEvent; }

/// Counts by kind with the first place of each.
class DamageCounts {
 public:
  void add(Damage damage, uint64_t byte, uint64_t count = 1) {
    Entry& entry = entries_[static_cast<size_t>(damage)];
    if (entry.count == 0 || byte < entry.first_byte) entry.first_byte = byte;
    entry.count += count;
  }
  void add(const DamageCounts& other) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = other.entries_[i];
      if (entry.count > 0) add(static_cast<Damage>(i), entry.first_byte, entry.count);
    }
  }
  uint64_t count(Damage damage) const { return entries_[static_cast<size_t>(damage)].count; }
  /// Those that occurred, in the order of the enum.
  std::vector<ReadIssue> issues() const;

 private:
  struct Entry {
    uint64_t count = 0;
    uint64_t first_byte = 0;
  };
  std::array<Entry, static_cast<size_t>(Damage::kCount)> entries_;
};

}  // namespace lumos

#include "lumos/trace/kineto/read_issue.h"

namespace lumos {

namespace {

const char* reason(Damage damage) {
  switch (damage) {
    case Damage::kControlByte:
      return "control byte in a string";
    case Damage::kInvalidUtf8:
      return "invalid UTF-8";
    case Damage::kBareQuote:
      return "bare quote in a string";
    case Damage::kBareBackslash:
      return "bare backslash in a string";
    case Damage::kMissingQuote:
      return "missing quote";
    case Damage::kTrailingComma:
      return "trailing comma";
    case Damage::kNotFinite:
      return "NaN or Infinity";
    case Damage::kNegativeDuration:
      return "negative duration, read as 0";
    case Damage::kAbsurdDuration:
      return "duration over a day, read as 0";
    case Damage::kMissingDuration:
      return "event without duration, read as 0";
    case Damage::kBrokenEvent:
      return "unreadable event";
    case Damage::kNoTime:
      return "event without a start time";
    case Damage::kAbsurdTime:
      return "start time over 73 years off its clock's zero (not in us?)";
    case Damage::kZeroTime:
      return "GPU work without time (ts 0, dur 0)";
    case Damage::kForeignText:
      return "text that is no event";
    case Damage::kBadCompression:
      return "compressed data cut or damaged from here";
    case Damage::kCount:
      break;
  }
  return "";
}

}  // namespace

std::vector<ReadIssue> DamageCounts::issues() const {
  std::vector<ReadIssue> out;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].count == 0) continue;
    auto damage = static_cast<Damage>(i);
    out.push_back({reason(damage), entries_[i].count, entries_[i].first_byte, is_repaired(damage)});
  }
  return out;
}

}  // namespace lumos

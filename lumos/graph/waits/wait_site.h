// A call site at which a stream is made to wait, and how its waits are read: which of the points that are outstanding
// they mean. Time rejects readings and ranks them, counted over the repetitions of the site. Kept by stream_waits.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// How a lone wait is read: which of the outstanding points it means. The first that fits the site's repetitions best
/// is taken; with nothing to choose by, the order here decides. Readings from kFirstStream on mean a certain stream:
/// the oldest or the newest point outstanding on it. Each is followed by its twin, in which the other of two streams
/// that may be the current one waits; a twin is taken only where time contradicts the reading itself. Waits of a
/// pattern have two readings, the likely one and its twin.
enum Reading : uint32_t { kStructure = 0, kOldest = 2, kNewest = 4, kFirstStream = 6 };
inline constexpr uint32_t kReadingsPerStream = 4;

struct ReadingScore {
  uint64_t seen = 0;
  uint64_t contradicted = 0;
  uint64_t binding = 0;  // the waiter began just when this source ended, and nothing else held it
};

/// What the repetitions of one call site taught about its waits.
struct WaitSite {
  uint32_t reading = kStructure;
  bool refused = false;  // every reading is contradicted
  std::vector<ReadingScore> scores;
  uint64_t lone = 0;       // waits read by choice ...
  uint64_t ambiguous = 0;  // ... of which time would have allowed another point as well
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> backs;  // (stream, works back) that fit an instance
  uint64_t instances = 0;
  uint32_t back_stream = kNoIndex;  // chosen: the wait means this many works before the stream's latest
  uint32_t back = 0;
  uint64_t edges = 0;
  uint64_t contradicted = 0;

  /// Drops what was counted with the last choice; the choice stays.
  void forget() {
    scores.clear();
    backs.clear();
    lone = ambiguous = instances = 0;
  }
};

/// Lets the site choose: the reading that time contradicts least and confirms most. Sites that are not read by choice
/// are refused when contradicted. True if anything changed.
bool choose_reading(WaitSite& site);

/// How sure an edge of the site is, in percent.
uint8_t confidence_pct(const WaitSite& site);

}  // namespace lumos

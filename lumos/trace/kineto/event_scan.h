// Finds where events end in the text of a traceEvents array: strings and brackets only, 64 bytes at a time. Used by the
// splitter to cut blocks, and by the event parser to find its feet again behind damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lumos {

inline constexpr size_t kNowhere = SIZE_MAX;

/// Walks a growing buffer. Positions are offsets into it; the walk begins between two events.
class EventScan {
 public:
  /// Appends to `ends` the offset behind every event that closes in [position(), size). Without `is_final` the last
  /// bytes (fewer than 64) wait for the next call. Stops at a bracket that closes more than was opened, or closes an
  /// event as if it were a list, and returns its offset; else kNowhere. Behind such a bracket restart() goes on.
  size_t advance(const char* data, size_t size, bool is_final, std::vector<uint32_t>& ends);
  /// Begins anew at `position`, between two events: after a closing bracket that was none, or to heal a lost track.
  void restart(size_t position);
  size_t position() const { return position_; }

 private:
  size_t scan_chunk(const char* chunk, const char* data_end, std::vector<uint32_t>& ends);
  size_t scan_bytewise(const char* chunk, const char* data_end, std::vector<uint32_t>& ends);

  size_t position_ = 0;
  int64_t depth_ = 0;
  uint64_t in_string_ = 0;   // all ones inside a string that spans chunks
  uint64_t is_escaped_ = 0;  // 1: the next byte follows an odd run of backslashes
};

/// The first place in [begin, end) where an object that looks like a trace event begins: '{' and one of the keys that
/// producers put first, and no ':' before it (which would make it a value inside an event). nullptr: none.
const char* find_event_start(const char* begin, const char* end);

/// The last such place, or nullptr.
const char* find_last_event_start(const char* begin, const char* end);

}  // namespace lumos

// Which track of a trace file each row is drawn on. Viewers draw slices of one track as a stack: slices that overlap
// without nesting vanish or corrupt it. So a lane whose rows overlap is spread over several tracks. Made for the trace
// writers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/trace/table/event_table.h"
#include "lumos/trace/table/nesting.h"

namespace lumos {

/// The metadata event that says whose rows an extra track holds, so that reading the file again puts them back there.
inline constexpr std::string_view kOverlapOf = "overlap_of";

struct Track {
  uint32_t lane = 0;
  uint32_t overflow = 0;  ///< 0: the lane's own track; else the n-th extra one
  std::string tid;        ///< as text: a number, or what the file had instead of one
  std::string name;       ///< for people: "stream 7", "stream 7 (overlap 1)", "thread 123"
};

struct TrackLayout {
  std::vector<Track> tracks;      ///< own tracks of all lanes first, by lane; then extra ones
  std::vector<uint32_t> track;    ///< of each row
  std::vector<int64_t> shown_ns;  ///< duration of each row, cut where rounding made it outlast the row that encloses it
};

/// Lays out all rows, each on the first track of its lane where it overlaps nothing or nests in what it overlaps.
/// GPU work never nests in GPU work. Extra tracks get numbers that their process does not use. Deterministic.
TrackLayout track_layout(const EventTable& table, const Nesting& nested);

}  // namespace lumos

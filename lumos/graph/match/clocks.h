// How the clocks of the ranks relate: offset and drift of each against the lowest rank, from collectives that end on
// all members at the same moment. Made by graph/match/match; read by graph/match/transfer, graph/job/link and report/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lumos {

/// One rank's clock against the lowest rank's, whose own is all zero.
struct RankClock {
  int64_t offset_ns = 0;  ///< this clock minus the lowest rank's, at `pivot_ns`
  double drift = 0;       ///< seconds gained per second
  int64_t pivot_ns = 0;   ///< the middle of the lowest rank's trace
  int64_t spread_ns = 0;  ///< median distance of the ends from the fitted line
  uint32_t samples = 0;   ///< ends that the fit rests on
  bool known = false;     ///< false: no matched collective connects this rank; its times are taken as they are

  /// A time of this rank's clock in the lowest rank's.
  int64_t to_reference(int64_t time_ns) const {
    const int64_t plain = time_ns - offset_ns;
    return drift == 0 ? plain : plain - static_cast<int64_t>(drift * static_cast<double>(plain - pivot_ns));
  }
};

/// One member's end of a collective.
struct ClockEnd {
  uint32_t rank_index = 0;
  int64_t end_ns = 0;  ///< on the rank's own clock
};

/// Ends of many collectives: collective c has ends[begin[c] .. begin[c + 1]).
struct ClockSamples {
  std::vector<uint32_t> begin = {0};
  std::vector<ClockEnd> ends;
};

/// The line value = at_pivot + slope * (x - pivot) through points with outliers, by medians (Theil-Sen): up to 29 % of
/// wild points do not move it. `slope` stays 0 where the points cannot tell it from noise.
struct RobustLine {
  double at_pivot = 0;
  double slope = 0;
  double spread = 0;  ///< median absolute residual
};
RobustLine fit_line(std::span<const int64_t> x, std::span<const int64_t> y, int64_t pivot);

/// Clocks of `ranks` ranks. Ranks that share no collective with the lowest one are reached through others; those that
/// nothing connects stay unknown. Deterministic; O(ends) plus a bounded fit per rank.
std::vector<RankClock> estimate_clocks(uint32_t ranks, const ClockSamples& samples, int64_t pivot_ns);

}  // namespace lumos

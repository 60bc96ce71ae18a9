// Matching without metadata: lanes of different ranks whose communication kernels end together. Used by graph/match.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lumos/graph/match/match.h"
#include "lumos/graph/match/sequence_pairs.h"

namespace lumos {

/// The kernels of one class on one lane of one rank that no metadata assigns to a group.
struct LaneSequence {
  uint32_t rank_index = 0;
  uint32_t lane = 0;
  bool point_to_point = false;
  uint32_t group = kNoIndex;      ///< set where the metadata does tell: such sequences only help to find clocks
  std::vector<uint32_t> kernels;  ///< indexes into JobMatches::kernels, by start
};

/// Two lanes whose kernels end together more often than chance allows.
struct LanePair {
  uint32_t a = 0;  ///< indexes of the sequences, a < b
  uint32_t b = 0;
  SpanPairs pairs;        ///< positions in the two sequences
  double of_shorter = 0;  ///< pairs as a share of the shorter sequence
  double of_longer = 0;
  int64_t spread_ns = 0;  ///< median distance of the ends
  bool by_order = false;
};

/// The kernels of `sequence` as spans; on the reference clock, or on the rank's own.
std::vector<CommSpan> spans_of(const JobMatches& matches, std::span<const uint32_t> kernels, bool reference_clock);

/// All lanes of kernels without a group, in rank order.
std::vector<LaneSequence> lanes_without_group(const JobMatches& matches);

/// Clocks of ranks that no metadata connects, from the pair of lanes that agrees best; they stay unknown where none
/// does.
void bootstrap_clocks(const std::vector<LaneSequence>& lanes, JobMatches& matches);

/// Every pair of lanes that belong together, the surest first. Marks in `refused` the kernels of lanes with equal
/// counts that order would pair and whose ends say no. `may_pair(r, q)` says which ranks exchange point-to-point.
std::vector<LanePair> find_lane_pairs(const std::vector<LaneSequence>& lanes, const JobMatches& matches,
                                      const std::vector<std::vector<bool>>& may_pair, int threads,
                                      std::vector<bool>& refused);

/// Lanes of at least two ranks that run one group's collectives: every inner vector holds one lane per rank.
std::vector<std::vector<uint32_t>> find_lane_groups(const std::vector<LaneSequence>& lanes,
                                                    const std::vector<LanePair>& pairs);

}  // namespace lumos

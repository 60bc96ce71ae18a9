// Groups for communication that no metadata names: matched kernels get the group whose members they are, or one of
// their own. Part of graph/match.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "lumos/graph/match/match.h"
#include "lumos/graph/match/match_lanes.h"

namespace lumos {

/// Writes CommKernel::group and ::peer and adds to JobMatches::groups; all three arguments must outlive it.
class MatchNames {
 public:
  MatchNames(std::span<const EventTable* const> tables, JobMatches& matches) : tables_(tables), out_(matches) {}

  /// Kernels of each member, by index of its rank: one group.
  void name_group(std::span<const std::pair<uint32_t, std::span<const uint32_t>>> members);
  /// Kernels of two lanes that were matched with each other; point-to-point ones get their peers.
  void name_pair(const LaneSequence& a, const LaneSequence& b, std::span<const std::pair<uint32_t, uint32_t>> pairs);
  /// What no partner and no metadata names is kept together by the stream it ran on.
  void name_rest(const std::vector<LaneSequence>& lanes);

 private:
  int32_t rank_of(uint32_t rank_index) const { return tables_[rank_index]->info.rank; }
  uint32_t add_group(CommGroup group);
  CommGroup group_of_ranks(const std::vector<int32_t>& ranks) const;

  std::span<const EventTable* const> tables_;
  JobMatches& out_;
  std::map<std::pair<std::vector<int32_t>, bool>, uint32_t> pair_groups_;  ///< by ranks and point-to-point
};

}  // namespace lumos

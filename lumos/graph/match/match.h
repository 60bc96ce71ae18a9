// Which communication kernels of different ranks are one collective or one transfer, and how the ranks' clocks relate.
// Made from the event tables of all ranks; read by graph/match/transfer, graph/job/link and report/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lumos/graph/host/collective.h"
#include "lumos/graph/match/clocks.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// One communication kernel of one rank.
struct CommKernel {
  uint32_t rank_index = 0;  ///< position among the tables
  uint32_t row = 0;
  uint32_t lane = 0;
  uint32_t group = kNoIndex;  ///< index into JobMatches::groups; kNoIndex: not known
  uint32_t match = kNoIndex;  ///< index of its collective; kNoIndex: no other member was found
  CollectiveKind kind = CollectiveKind::kUnknown;
  int32_t peer = -1;     ///< the other rank of a point-to-point kernel where the metadata tells
  int64_t start_ns = 0;  ///< on the rank's own clock, counted from the lowest rank's time base
  int64_t end_ns = 0;
  int64_t bytes = -1;
  int64_t sequence = -1;
  bool in_call_order = false;  ///< `sequence` counts the program's calls: sure, however far apart the ends are
};

/// A set of ranks that communicate, the same for all of them.
struct CommGroup {
  std::string name;
  std::string description;
  std::vector<int32_t> ranks;  ///< rank numbers; empty: not known
  int32_t size = -1;
  enum class Source : uint8_t { kConfig, kArguments, kInferred } source = Source::kInferred;
};

/// How many kernels were matched by what, and why others were not.
struct MatchCounts {
  uint64_t kernels = 0;
  uint64_t by_sequence = 0;
  uint64_t by_order = 0;
  uint64_t by_ends = 0;
  uint64_t alone = 0;     ///< no other member of the group was traced, or nothing tells the group
  uint64_t unpaired = 0;  ///< a traced partner exists, but its kernel was not found
  uint64_t refused = 0;   ///< order would have paired it, the ends say no
};

struct JobMatches {
  std::vector<CommKernel> kernels;   ///< by rank, then start
  std::vector<uint32_t> rank_begin;  ///< kernels of rank r: [rank_begin[r], rank_begin[r + 1])
  std::vector<CommGroup> groups;
  std::vector<uint32_t> match_begin;  ///< members of match m: members[match_begin[m] .. match_begin[m + 1])
  std::vector<uint32_t> members;      ///< indexes into kernels, by rank
  std::vector<RankClock> clocks;      ///< one per rank
  MatchCounts counts;

  size_t size() const { return match_begin.empty() ? 0 : match_begin.size() - 1; }
  std::span<const uint32_t> members_of(size_t match) const {
    return std::span(members).subspan(match_begin[match], match_begin[match + 1] - match_begin[match]);
  }
  int64_t start_of(uint32_t kernel) const {
    return clocks[kernels[kernel].rank_index].to_reference(kernels[kernel].start_ns);
  }
  int64_t end_of(uint32_t kernel) const {
    return clocks[kernels[kernel].rank_index].to_reference(kernels[kernel].end_ns);
  }
};

struct MatchOptions {
  int threads = 0;
};

/// Matches the communication of `tables` (sorted by rank). Never fails: what does not fit is counted. By (group,
/// sequence) where present, else by order within a group or, without metadata, within lanes whose ends agree; what
/// order cannot explain is paired by simultaneous ends once the clocks are known. O(kernels log kernels), and the lanes
/// of kernels without metadata pairwise.
JobMatches match_ranks(std::span<const EventTable* const> tables, const MatchOptions& options);

}  // namespace lumos

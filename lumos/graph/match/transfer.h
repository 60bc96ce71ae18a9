// Every collective split into arriving, waiting and transfer, and what that says about bandwidth by group and kind.
// Made from the matched kernels of a job; read by graph/job/link and report/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lumos/graph/match/match.h"

namespace lumos {

/// How the transfer time of a kernel is known.
enum class TransferSource : uint8_t {
  kMeasured,   ///< all members are traced: from the last arrival to the end
  kRepeated,   ///< members are missing: what equal collectives take when nobody is waited for, at most what is measured
  kUnbounded,  ///< members are missing and nothing equal was seen: waiting for them is still inside
};

/// One column entry per kernel of JobMatches. A kernel lasts from its arrival to its end: waiting,
/// transfer and settling.
struct TransferColumns {
  std::vector<int64_t> transfer_ns;  ///< one value per collective, the same for all its members
  std::vector<int64_t> wait_ns;      ///< for members that are traced: until the last of them arrived
  std::vector<int64_t> hidden_ns;    ///< the rest: waiting for members that are not traced
  std::vector<TransferSource> source;
  /// Kernels notice the end of a transfer a little later, each for itself; this is how much in the mean. It is in no
  /// transfer_ns, and stays where transfers are made faster.
  int64_t settle_ns = 0;

  /// Settling of one kernel: of the shortest ones it is at most a quarter.
  int64_t settling_of(size_t kernel) const { return std::min(settle_ns, transfer_ns[kernel] / 3); }
};

TransferColumns split_transfers(const JobMatches& matches, const std::vector<const EventTable*>& tables);

/// A collective's times summed over one group and kind. Times are sums over the collectives, waiting over members too.
struct TransferSummary {
  uint32_t group = kNoIndex;
  CollectiveKind kind = CollectiveKind::kUnknown;
  uint32_t members = 0;  ///< traced
  uint64_t collectives = 0;
  uint64_t estimated = 0;  ///< of these, with members missing
  int64_t bytes = 0;       ///< sum; -1 if any is unknown
  int64_t transfer_ns = 0;
  int64_t wait_ns = 0;        ///< all members together, traced or not
  double algorithm_gbps = 0;  ///< bytes over transfer time, GB/s; 0 if unknown
  double bus_gbps = 0;
};

/// Sums over the kernels whose `keep` is true (all, if empty), by group then kind. A collective counts once, by its
/// first kept member.
std::vector<TransferSummary> summarise_transfers(const JobMatches& matches, const TransferColumns& columns,
                                                 const std::vector<bool>& keep);

}  // namespace lumos

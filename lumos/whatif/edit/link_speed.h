// Which part of each transfer is latency, and which links it crosses: what faster links change. Fitted on the job's own
// transfers. Read by whatif/change.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/job/job.h"
#include "lumos/whatif/edit/change.h"

namespace lumos {

/// Nanoseconds of latency in each transfer, one per kernel of the job's matches. By group and kind the line through
/// transfer time against bytes meets zero bytes at the latency; where all transfers are of one size nothing tells it
/// from bandwidth, and it is 0.
std::vector<int64_t> transfer_latency_ns(const LinkedJob& job);

/// GPUs per node as the traces list devices; 0 where they list none or only one.
int64_t devices_per_node(const LinkedJob& job);

struct CrossingTransfers {
  std::vector<bool> chosen;  ///< one per kernel of the job's matches
  uint64_t unknown = 0;      ///< kernels whose members the traces do not tell; not chosen
  double unknown_ms = 0;     ///< their transfers
};

/// The kernels whose transfer crosses links of `tier`. Ranks fill nodes in order. Point to point counts by its two
/// ranks where known. Of a group whose list of ranks is cut, the first ones tell, or that no node holds as many.
CrossingTransfers crosses(const LinkedJob& job, LinkTier tier, int64_t gpus_per_node);

}  // namespace lumos

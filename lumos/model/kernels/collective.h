// How long a collective's transfer takes once its last rank has arrived: latency plus bytes over the bandwidth of the
// tier that limits it, for NCCL's ring and tree, inside a node and across nodes. Pure functions over plain structs;
// used by estimates, by lowering for shapes no trace has shown, and by calibration.
#pragma once

#include "lumos/graph/host/collective.h"
#include "lumos/model/cluster/cluster.h"
#include "lumos/parallel/group_shape.h"

namespace lumos {

/// `bytes` is what NCCL's own tests call the size: the buffer of an all-reduce, broadcast or message, the whole
/// gathered or scattered tensor, everything one rank gives to an all-to-all.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  double bytes = 0;
  GroupShape group;
};

/// Microseconds of the transfer; 0 for a group of one. Grows with bytes. It assumes that every GPU
/// of the node communicates like this one, as in training: groups that are strided over a node share its network cards.
double collective_us(const Collective& collective, const Cluster& cluster);

/// bytes / time x NCCL's bus factor, in 1e9 bytes per second; 0 when the time is 0.
double bus_gb_per_s(const Collective& collective, double time_us);

}  // namespace lumos

// The units of a fully sharded job as one rank runs them: which gather serves which copy-out, whether it was asked for
// before other work, and which layer a unit is part of. Made from labelled launches; read by program/recover, which
// labels by it, and by whoever prints units.
#pragma once

#include <vector>

#include "lumos/program/recover/recover.h"

namespace lumos {

/// One time that a unit's parameters were gathered. Launch indexes; kNoIndex where there is no such launch.
struct UnitGather {
  uint32_t begin = kNoIndex;     ///< first launch: copy-in, or the collective where shards are gathered in place
  uint32_t gather = kNoIndex;    ///< the collective
  uint32_t copy_out = kNoIndex;  ///< first launch of the copy-out
  uint32_t copy_out_end = kNoIndex;
  bool prefetched = false;  ///< other work was launched between the gather and its use
};

/// One time that a unit's gradients were reduced.
struct UnitReduce {
  uint32_t begin = kNoIndex;   ///< first launch of the copy-in
  uint32_t reduce = kNoIndex;  ///< the reduce-scatter, or the all-reduce where only replicas reduce
  uint32_t replicas = kNoIndex;
  uint32_t end = kNoIndex;
};

struct UnitRuns {
  std::vector<UnitGather> gathers;  ///< in the order of their collectives
  std::vector<UnitReduce> reduces;  ///< in order
};

/// Empty where the job shards no parameters.
UnitRuns find_units(const LaunchList& list);

/// Gives each unit's gather and copy-out the layer of what it computes next, and marks what is gathered ahead.
void label_units(const EventTable& table, RecoveredRank& rank);

}  // namespace lumos

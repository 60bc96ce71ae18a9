// Cuts the launches of a rank into passes: which phase each launch belongs to, which backward belongs to which forward,
// and the micro-batch and chunk of each. The first half of program/recover.
#pragma once

#include <vector>

#include "lumos/program/recover/recover.h"

namespace lumos {

/// Fills passes and step_start_ns from the launch list: phases, steps and extents; not yet micro-batches.
void cut_passes(const EventTable& table, RecoveredRank& rank);

/// Pairs backward with forward passes by autograd sequence numbers, else first in first out per step, and numbers
/// micro-batches and chunks; fills stages, chunks and microbatches.
void number_passes(const EventTable& table, const RecoverHints& hints, RecoveredRank& rank);

/// Launches of forward (or recompute) operators by their autograd sequence number.
class ForwardOps {
 public:
  ForwardOps(const EventTable& table, const LaunchList& list);
  /// The launch that stands for the forward operator whose backward issued `launch`: the first one inside of it, or the
  /// last one before it. kNoIndex where the trace does not say.
  uint32_t forward_of(const Launch& launch) const;
  /// First launch inside a row's time on its lane, or kNoIndex.
  uint32_t first_launch_in(uint32_t row) const;
  /// The forward operator with the same sequence number as a backward row, before it in time.
  uint32_t forward_row(uint32_t backward_row, bool same_lane) const;

 private:
  const EventTable& table_;
  const LaunchList& list_;
  std::vector<NumberedOp> by_sequence_;
};

}  // namespace lumos

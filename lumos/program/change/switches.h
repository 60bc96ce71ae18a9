// Switches that add or take out kinds of work: sequence and tensor parallelism, the distributed optimizer, what
// overlaps gradient reduction and parameter gathering, recomputation, and parallel sizes that grow from 1. The blocks
// of the recovered program are edited into what Megatron-LM would have run; sizes are left to program/retime. Used by
// program/predict before it plans.
#pragma once

#include "lumos/program/lower/plan.h"

namespace lumos {

/// Where a kind of data-parallel communication happens.
enum class Moment : uint8_t { kNever, kEarly, kLate };  ///< early: inside the passes; late: around the optimizer

/// What differs between two jobs besides sizes.
struct Switches {
  bool tensor_grows = false;    ///< from 1
  bool tensor_ends = false;     ///< goes back to 1
  bool pipeline_grows = false;  ///< from 1
  bool sequence_on = false;
  bool sequence_off = false;
  Moment reduce_before = Moment::kNever, reduce_after = Moment::kNever;
  Moment gather_before = Moment::kNever, gather_after = Moment::kNever;
  bool buckets_change = false;     ///< of gradients and parameters that move beside the passes
  bool embedding_ends = false;     ///< a tied embedding's gradient is summed over its two stages, and no more
  bool embedding_begins = false;   ///< now, and not before
  bool reduces_otherwise = false;  ///< reduce-scatter instead of all-reduce, or back
  bool units_change = false;       ///< when sharded units are gathered or reduced, and over whom
  Recompute recompute_before = Recompute::kNone, recompute_after = Recompute::kNone;

  bool any() const;
};

Switches switches_between(const Job& base, const Job& target);

/// `recovery` as if the traced job had had the switches of `target`; its job stays, sizes are still those of the trace.
Recovery apply_switches(const Recovery& recovery, const Job& target);

}  // namespace lumos

// New durations for the tasks of a program whose job has changed: what the trace measured, times the ratio of what the
// models say for the new and the old size. Made for program/lower.
#pragma once

#include "lumos/program/lower/lower.h"
#include "lumos/program/lower/plan.h"
#include "lumos/program/measure/network.h"

namespace lumos {

struct RetimeOptions {
  /// How much more work lies between two synchronisations of the replicas than in the traced job; waits grow with it.
  double sync_period_ratio = 1;
  /// Waits grow with the number of members; false leaves that out, for comparison.
  bool variability = true;
};

TaskTimes retime(const Recovery& recovery, const Job& target, const Network& network, const RetimeOptions& options);

/// FLOPs of a layer of one micro-batch, each as long as `gpu` takes for it, in `target` over those in `base`.
double layer_work_ratio(const Job& base, const Job& target, const Gpu& gpu);

/// By how much longer the mean of `after` members waits for the slowest than that of `before` members; 1 where there
/// was nobody to wait for.
double growth_of_waits(int64_t before, int64_t after);

}  // namespace lumos

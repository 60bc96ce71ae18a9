// SM utilisation over a step, as the paper's figure 6 draws it: per interval of 1 ms the share of time in which at
// least one stream executes; beside it the same weighted by the share of the SMs that the running grids can fill.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lumos/report/figures/busy.h"
#include "lumos/report/figures/steps.h"

namespace lumos {

inline constexpr int64_t kUtilisationIntervalNs = 1'000'000;  ///< the paper's interval
/// A curve has no more, however long the step: one event with a wild time makes a step of hours or years.
inline constexpr int64_t kMostUtilisationIntervals = 1'000'000;

struct Utilisation {
  int64_t interval_ns = kUtilisationIntervalNs;  ///< the last interval ends with the window
  std::vector<double> busy;                      ///< 0 to 1, one per interval
  std::vector<double> weighted;                  ///< 0 to 1, one per interval, never above busy
};

/// The interval for curves over windows of at most `length_ns`: the paper's, or a multiple of it that keeps them to
/// kMostUtilisationIntervals. Curves that are compared have the same.
int64_t utilisation_interval_ns(int64_t length_ns);

/// The curves of `window`. `intervals` are sorted by start. An empty window has no intervals.
Utilisation utilisation(std::span<const BusyInterval> intervals, Window window, int64_t interval_ns);

/// Mean |a - b| over the intervals of the longer curve; where one has ended it counts as 0. 0 for two empty curves.
double mean_absolute_difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lumos

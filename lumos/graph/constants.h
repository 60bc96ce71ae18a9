// The few numbers that a rank's graph needs besides durations, fitted on the trace: how long from a launch call to an
// idle stream's kernel, from one kernel to the next, from a stream's event to its waiter, from the GPU's end to a
// synchronise call's return, from a call to a thread that communicates. Made by graph/rank/build from samples; printed
// by inspect and replay.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// Collects samples by name; the value is the mean of their middle, so that sums over a step stay unbiased while strays
/// (a page fault, a wait that the trace does not show) do not count.
class ConstantFitter {
 public:
  void add(const std::string& name, int64_t sample_ns) { samples_[name].push_back(sample_ns); }
  /// Fits all; names without samples are absent.
  std::vector<Constant> fit() const;

 private:
  std::map<std::string, std::vector<int64_t>> samples_;
};

/// Mean of the samples near the median: within six median absolute deviations of it, and at least a microsecond.
int64_t middle_mean(std::vector<int64_t> samples);

/// Looks up a value by name, then by the part before ':' alone (the pooled fit), then falls back to `otherwise`.
class ConstantTable {
 public:
  explicit ConstantTable(std::vector<Constant> constants);
  int64_t value(const std::string& name, int64_t otherwise) const;
  const std::vector<Constant>& constants() const { return constants_; }

 private:
  std::vector<Constant> constants_;  // sorted by name
};

// Built-in defaults, for traces that show no sample: orders of magnitude of current data-centre GPUs.
inline constexpr int64_t kDefaultLaunchNs = 5000;
inline constexpr int64_t kDefaultDispatchNs = 1000;
inline constexpr int64_t kDefaultEventNs = 1500;
inline constexpr int64_t kDefaultReturnNs = 5000;
inline constexpr int64_t kDefaultCallNs = 2000;
inline constexpr int64_t kDefaultEnqueueNs = 50000;  // to another CPU thread

}  // namespace lumos

// The Pareto front of step time, memory and GPUs: the outcomes that no other beats in one of the three without losing
// in another. Read by search, which need not evaluate what is beaten already, and by renderers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lumos/search/outcome.h"

namespace lumos {

/// Less is better in each.
struct Objectives {
  double step_ms = 0;
  double peak_gib = 0;
  int64_t num_gpus = 0;
};

inline Objectives objectives_of(const Outcome& outcome) {
  return {outcome.step_ms, outcome.peak_gib, outcome.num_gpus};
}

/// `a` is nowhere worse than `b` and somewhere better. Equals do not beat each other.
bool dominates(const Objectives& a, const Objectives& b);

/// Points of which none dominates another.
class Front {
 public:
  /// True when a member dominates the point. O(members).
  bool beats(const Objectives& point) const;
  /// True when a member is nowhere worse than the point. O(members).
  bool has_within(const Objectives& point) const;
  /// Adds what is not beaten, and drops the members that it beats.
  void add(const Objectives& point);

 private:
  std::vector<Objectives> members_;
};

/// Indexes of the outcomes on the front, increasing. What does not fit is not on it.
std::vector<size_t> pareto_front(const std::vector<Outcome>& outcomes);

}  // namespace lumos

#include "lumos/search/front.h"

#include <algorithm>

namespace lumos {

namespace {

bool nowhere_worse(const Objectives& a, const Objectives& b) {
  return a.step_ms <= b.step_ms && a.peak_gib <= b.peak_gib && a.num_gpus <= b.num_gpus;
}

}  // namespace

bool dominates(const Objectives& a, const Objectives& b) {
  return nowhere_worse(a, b) && (a.step_ms < b.step_ms || a.peak_gib < b.peak_gib || a.num_gpus < b.num_gpus);
}

bool Front::beats(const Objectives& point) const {
  return std::any_of(members_.begin(), members_.end(), [&](const Objectives& m) { return dominates(m, point); });
}

bool Front::has_within(const Objectives& point) const {
  return std::any_of(members_.begin(), members_.end(), [&](const Objectives& m) { return nowhere_worse(m, point); });
}

void Front::add(const Objectives& point) {
  if (beats(point)) return;
  std::erase_if(members_, [&](const Objectives& m) { return dominates(point, m); });
  members_.push_back(point);
}

std::vector<size_t> pareto_front(const std::vector<Outcome>& outcomes) {
  Front front;
  for (const Outcome& outcome : outcomes) {
    if (outcome.fits) front.add(objectives_of(outcome));
  }
  std::vector<size_t> indexes;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].fits && !front.beats(objectives_of(outcomes[i]))) indexes.push_back(i);
  }
  return indexes;
}

}  // namespace lumos

#include "lumos/search/front.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lumos {
namespace {

Outcome point(double step_ms, double peak_gib, int64_t num_gpus, bool fits = true) {
  Outcome outcome;
  outcome.step_ms = step_ms;
  outcome.peak_gib = peak_gib;
  outcome.num_gpus = num_gpus;
  outcome.fits = fits;
  return outcome;
}

TEST(ParetoFront, KeepsWhatNothingBeats) {
  const std::vector<Outcome> outcomes = {point(10, 50, 8), point(12, 40, 8), point(12, 50, 8),
                                         point(12, 40, 8), point(20, 40, 4), point(5, 5, 8, false)};
  EXPECT_EQ(pareto_front(outcomes), (std::vector<size_t>{0, 1, 3, 4}));
}

RC_GTEST_PROP(ParetoFront, IsWhatComparingAllPairsGives, ()) {
  std::vector<Outcome> outcomes;
  for (int i = 0, n = *rc::gen::inRange(0, 40); i < n; ++i) {
    outcomes.push_back(point(*rc::gen::inRange(1, 6), *rc::gen::inRange(1, 6), *rc::gen::inRange(1, 4)));
  }
  std::vector<size_t> expected;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    bool beaten = false;
    for (const Outcome& other : outcomes) beaten |= dominates(objectives_of(other), objectives_of(outcomes[i]));
    if (!beaten) expected.push_back(i);
  }
  RC_ASSERT(pareto_front(outcomes) == expected);
}

}  // namespace
}  // namespace lumos

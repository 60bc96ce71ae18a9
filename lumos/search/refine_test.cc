#include "lumos/search/refine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumos/search/front.h"
#include "lumos/search/results_file.h"
#include "lumos/search/test_space.h"

namespace lumos {
namespace {

struct Searched {
  Anchor anchor;
  std::vector<Configuration> configurations;
  SearchResult result;
};

Searched searched() {
  Searched out;
  out.anchor.cluster = search_test_cluster();
  const Job base = search_test_job();
  const Result<Enumeration> found =
      enumerate_space(complete_space({}, base, out.anchor.cluster, 32).value(), base, out.anchor.cluster);
  EXPECT_TRUE(found) << found.error().message;
  out.configurations = make_configurations(found->jobs, out.anchor, 1);
  out.result = search(out.configurations, out.anchor, {}, {.keep = 40, .threads = 1}, [](const auto&) -> Status {
                 return {};
               }).value();
  return out;
}

/// A simulation that turns the order of the estimates around.
Result<StepFigures> reversed(const Job& job, const Searched& from) {
  for (const Configuration& configuration : from.configurations) {
    if (config_id(configuration.job, "") != config_id(job, "")) continue;
    StepFigures figures;
    figures.step_ms = 1e-3 / configuration.bound_ms;  // below every estimate, or refine would go on
    figures.exposed_comm_ms = 1;
    return figures;
  }
  return fail(ErrorKind::kFailed, "not of the space");
}

SaveOutcomes nowhere() {
  return [](const std::vector<Evaluated>&) -> Status { return {}; };
}

TEST(Refine, TheBestSimulatedComesFirst) {
  Searched from = searched();
  RefineOptions options;
  options.count = 5;
  const auto refusals = refine(
      from.result, from.configurations, from.anchor, {}, options, [&](const Job& job) { return reversed(job, from); },
      nowhere());
  ASSERT_TRUE(refusals);
  EXPECT_TRUE(refusals->empty());
  EXPECT_EQ(from.result.simulated, 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(from.result.evaluated[i].outcome.simulated);
    const size_t before = i == 0 ? 0 : i - 1;
    EXPECT_LE(from.result.evaluated[before].outcome.step_ms, from.result.evaluated[i].outcome.step_ms);
  }
  EXPECT_FALSE(from.result.evaluated[5].outcome.simulated);
}

// Simulated steps and estimates stand beside each other: none of the front is beaten by what the table shows.
TEST(Refine, TheFrontIsOfWhatIsShown) {
  for (const double slower : {0.5, 1.0, 3.0}) {
    Searched from = searched();
    std::vector<double> estimates;
    for (const Evaluated& each : from.result.evaluated) estimates.push_back(each.outcome.step_ms);
    RefineOptions options;
    options.count = 4;
    size_t asked = 0;
    const auto scaled = [&](const Job&) -> Result<StepFigures> {
      StepFigures figures;
      figures.step_ms = slower * estimates[asked++];
      return figures;
    };
    ASSERT_TRUE(refine(from.result, from.configurations, from.anchor, {}, options, scaled, nowhere()));
    EXPECT_NEAR(from.result.correction, slower, 1e-9);
    for (size_t i = 0; i < from.result.evaluated.size(); ++i)
      EXPECT_NEAR(from.result.evaluated[i].outcome.step_ms, slower * estimates[i], 1e-6 * estimates[i]);
    for (const size_t member : from.result.front) {
      for (const Evaluated& other : from.result.evaluated) {
        if (!other.outcome.fits) continue;
        EXPECT_FALSE(dominates(objectives_of(other.outcome), objectives_of(from.result.evaluated[member].outcome)));
      }
    }
    EXPECT_FALSE(from.result.front.empty());
  }
}

TEST(Refine, GoesOnWhileAnEstimateLooksBetterThanTheBestSimulated) {
  Searched from = searched();
  RefineOptions options;
  options.count = 2;
  const auto slow = [](const Job&) -> Result<StepFigures> {
    StepFigures figures;
    figures.step_ms = 1e9;
    return figures;
  };
  ASSERT_TRUE(refine(from.result, from.configurations, from.anchor, {}, options, slow, nowhere()));
  EXPECT_EQ(from.result.simulated, 8u);  // four times as many, and no more
}

TEST(Refine, WhatCannotBeSimulatedIsNamedAndTheNextIsTried) {
  Searched from = searched();
  const std::string best = from.configurations[from.result.evaluated.front().index].id;
  RefineOptions options;
  options.count = 3;
  int asked = 0;
  const auto refusals = refine(
      from.result, from.configurations, from.anchor, {}, options,
      [&](const Job& job) -> Result<StepFigures> {
        if (asked++ == 0) return fail(ErrorKind::kUsage, "no trace shows it");
        return reversed(job, from);
      },
      nowhere());
  ASSERT_TRUE(refusals);
  ASSERT_EQ(refusals->size(), 1u);
  EXPECT_EQ(from.configurations[refusals->front().index].id, best);
  EXPECT_EQ(refusals->front().reason, "no trace shows it");
  EXPECT_EQ(from.result.simulated, 3u);
}

TEST(Refine, ASecondRunSimulatesNothingAgain) {
  Searched first = searched(), second = searched();
  RefineOptions options;
  options.count = 4;
  KnownOutcomes known;
  const SaveOutcomes keep = [&](const std::vector<Evaluated>& news) -> Status {
    for (const Evaluated& each : news) {
      // Through the file's form, as a resumed search reads it.
      const std::string line = result_line(each.outcome, first.configurations[each.index].job, {});
      known[each.outcome.id] = parse_result_line(line).value();
    }
    return {};
  };
  ASSERT_TRUE(refine(
      first.result, first.configurations, first.anchor, {}, options,
      [&](const Job& job) { return reversed(job, first); }, keep));
  EXPECT_EQ(known.size(), 4u);
  ASSERT_TRUE(refine(
      second.result, second.configurations, second.anchor, known, options,
      [](const Job&) -> Result<StepFigures> { return fail(ErrorKind::kFailed, "asked again"); }, nowhere()));
  EXPECT_EQ(second.result.simulated, 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(first.result.evaluated[i].outcome, second.result.evaluated[i].outcome);
}

}  // namespace
}  // namespace lumos

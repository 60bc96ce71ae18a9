#include "lumos/whatif/gains/gains.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "lumos/graph/test_job.h"
#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

double last_end(const Timeline& timeline) {
  return timeline.end_ns.empty()
             ? 0
             : static_cast<double>(*std::max_element(timeline.end_ns.begin(), timeline.end_ns.end()));
}

/// A job of one rank that is nothing but `graph`.
LinkedJob job_of(ExecGraph graph) {
  LinkedJob job;
  job.linked.graph = std::move(graph);
  job.matches.rank_begin = {0, 0};
  return job;
}

Candidate one_task(const ExecGraph& graph, uint32_t task) {
  Candidate candidate;
  candidate.kind = CandidateKind::kKernel;
  candidate.tasks = {task};
  candidate.time_ns = graph.duration_ns[task];
  return candidate;
}

/// Whether the duration of each task decides when the last one ends.
std::vector<bool> on_path(const ExecGraph& graph, const Timeline& timeline) {
  std::vector<bool> out(graph.size(), false);
  if (graph.size() == 0) return out;
  auto last = std::max_element(timeline.end_ns.begin(), timeline.end_ns.end());
  uint32_t task = static_cast<uint32_t>(last - timeline.end_ns.begin());
  bool whole = true;
  while (task != kNoIndex) {
    if (whole) out[task] = true;
    const uint32_t e = timeline.binding[task];
    if (e == kNoIndex) break;
    whole = !graph.edges[e].from_start;
    task = graph.edges[e].source;
  }
  return out;
}

GainOptions everything() {
  GainOptions options;
  options.least_share = 0;
  return options;
}

TEST(Gains, AKernelBesideThePathGainsNothingAndOneOnItUntilTheOtherTakesOver) {
  TestGraph g(1, 2);
  const uint32_t a = g.row(EventKind::kKernel, "long", 1, 0, 1000);
  const uint32_t b = g.row(EventKind::kKernel, "short", 2, 0, 600);
  g.task(TaskKind::kKernel, a, 0, 1000, {});
  g.task(TaskKind::kKernel, b, 0, 600, {});
  const LinkedJob job = job_of(g.finish({}));
  const std::vector<Candidate> candidates = {one_task(job.linked.graph, 0), one_task(job.linked.graph, 1)};
  const std::vector<Gain> gains = find_gains(job, candidates, last_end, everything());
  ASSERT_EQ(gains.size(), 2u);
  EXPECT_EQ(gains[0].candidate, 0u);
  EXPECT_EQ(gains[0].tenth_ns, 100);
  EXPECT_EQ(gains[0].half_ns, 400);
  EXPECT_EQ(gains[0].free_ns, 400);
  EXPECT_NEAR(gains[0].ends_after, 0.9 * 0.4, 1.0 / 32);
  EXPECT_EQ(gains[1].free_ns, 0);
}

TEST(Gains, FreeSynchroniseNoLongerWaits) {
  const LinkedJob job = job_of(small_step());
  const std::vector<Candidate> candidates = find_candidates(job, 1);
  const auto sync = std::find_if(candidates.begin(), candidates.end(),
                                 [](const Candidate& c) { return c.kind == CandidateKind::kSync; });
  ASSERT_NE(sync, candidates.end());
  EXPECT_EQ(sync->name, "cudaDeviceSynchronize");
  ASSERT_EQ(sync->waits.size(), 1u);
  const Timeline before = simulate(job.linked.graph);
  const Timeline after = simulate(with_candidate(job, *sync, 0));
  EXPECT_GT(before.end_ns.back(), after.end_ns.back());
}

TEST(Gains, CandidatesOfARankAreItsKernelsAndItsProgram) {
  TestJobShape shape;
  const LinkedJob job = link_job(make_test_job(shape).tables, {});
  const std::vector<Candidate> candidates = find_candidates(job, 2);
  int ranks = 0;
  for (const Candidate& candidate : candidates) {
    std::vector<uint32_t> tasks = candidate.tasks;
    std::sort(tasks.begin(), tasks.end());
    EXPECT_EQ(std::adjacent_find(tasks.begin(), tasks.end()), tasks.end()) << candidate.name;
    if (candidate.kind == CandidateKind::kRank) ++ranks;
    if (candidate.kind == CandidateKind::kFamily && candidate.name == "GEMM") {
      EXPECT_EQ(candidate.tasks.size(), size_t(shape.ranks * shape.rounds));
    }
  }
  EXPECT_EQ(ranks, shape.ranks);
}

RC_GTEST_PROP(Gains, FreeGainsAtLeastTwiceAsFastAndThatAtLeastTenPercent, ()) {
  TestJobShape shape;
  shape.ranks = 2 * *rc::gen::inRange(1, 3);
  shape.rounds = *rc::gen::inRange(2, 8);
  shape.seed = *rc::gen::arbitrary<uint32_t>();
  const LinkedJob job = link_job(make_test_job(shape).tables, {});
  const std::vector<Candidate> candidates = find_candidates(job, 1);
  const std::vector<Gain> gains = find_gains(job, candidates, last_end, everything());
  RC_ASSERT(!gains.empty());
  for (const Gain& gain : gains) {
    RC_ASSERT(gain.tenth_ns >= 0);
    RC_ASSERT(gain.half_ns >= gain.tenth_ns);
    RC_ASSERT(gain.free_ns >= gain.half_ns);
    const Candidate& candidate = candidates[gain.candidate];
    if (candidate.waits.empty()) RC_ASSERT(gain.free_ns <= static_cast<double>(candidate.time_ns));
  }
}

RC_GTEST_PROP(Gains, NoTaskGainsMoreThanItsTimeOnThePath, ()) {
  const ExecGraph graph = random_graph(*rc::gen::arbitrary<uint32_t>());
  const LinkedJob job = job_of(graph);
  const Timeline timeline = simulate(graph);
  const std::vector<bool> path = on_path(graph, timeline);
  const double base_ns = last_end(timeline);
  for (uint32_t task = 0; task < graph.size(); ++task) {
    const Candidate candidate = one_task(graph, task);
    RC_ASSERT(with_candidate(job, candidate, 1).duration_ns == graph.duration_ns);
    double before_ns = 0;
    for (double factor : {0.99, 0.9, 0.5, 0.0}) {
      const ExecGraph changed = with_candidate(job, candidate, factor);
      const double gain_ns = base_ns - last_end(simulate(changed));
      const double taken_ns = static_cast<double>(graph.duration_ns[task] - changed.duration_ns[task]);
      RC_ASSERT(gain_ns >= before_ns);
      RC_ASSERT(gain_ns <= (path[task] ? taken_ns : 0));
      before_ns = gain_ns;
    }
  }
}

RC_GTEST_PROP(Gains, TheAnswerDoesNotDependOnTheNumberOfThreads, ()) {
  TestJobShape shape;
  shape.rounds = *rc::gen::inRange(2, 6);
  shape.seed = *rc::gen::arbitrary<uint32_t>();
  const LinkedJob job = link_job(make_test_job(shape).tables, {});
  const std::vector<Candidate> candidates = find_candidates(job, 1);
  GainOptions one = everything(), many = everything();
  one.threads = 1, many.threads = 4;
  const std::vector<Gain> a = find_gains(job, candidates, last_end, one);
  const std::vector<Gain> b = find_gains(job, find_candidates(job, 4), last_end, many);
  RC_ASSERT(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    RC_ASSERT(a[i].candidate == b[i].candidate);
    RC_ASSERT(a[i].tenth_ns == b[i].tenth_ns && a[i].half_ns == b[i].half_ns && a[i].free_ns == b[i].free_ns);
    RC_ASSERT(a[i].ends_after == b[i].ends_after);
  }
}

}  // namespace
}  // namespace lumos

#include "lumos/whatif/edit/turns.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "lumos/graph/test_job.h"
#include "lumos/sim/simulate.h"
#include "lumos/whatif/edit/change.h"
#include "lumos/whatif/test_traces.h"

namespace lumos {
namespace {

ScaledGraph with_overlap(const LinkedJob& job, const std::vector<std::string>& values) {
  ChangeList list;
  for (const std::string& value : values) list.changes.push_back(*parse_change("overlap", value));
  auto changed = apply_changes(job, list);
  EXPECT_TRUE(changed.has_value()) << (changed ? "" : changed.error().message);
  return changed ? std::move(*changed) : ScaledGraph{};
}

/// How long compute runs while a kernel of the job's matches is there, from its arrival on, summed over both.
int64_t beside_ns(const LinkedJob& job, const Timeline& timeline) {
  const ExecGraph& graph = job.linked.graph;
  int64_t sum_ns = 0;
  for (size_t r = 0; r < graph.ranks.size(); ++r) {
    std::vector<std::pair<int64_t, int64_t>> compute;
    int64_t longest_ns = 0;
    for (uint32_t task = graph.ranks[r].first_task; task < graph.ranks[r].end_task; ++task) {
      if (!is_compute_task(graph.kind[task])) continue;
      compute.emplace_back(timeline.start_ns[task], timeline.end_ns[task]);
      longest_ns = std::max(longest_ns, timeline.end_ns[task] - timeline.start_ns[task]);
    }
    std::sort(compute.begin(), compute.end());
    for (uint32_t k = job.matches.rank_begin[r]; k < job.matches.rank_begin[r + 1]; ++k) {
      const uint32_t arrive = job.linked.arrive_task[k], transfer = job.linked.transfer_task[k];
      if (arrive == kNoIndex || transfer == kNoIndex) continue;
      const int64_t from_ns = timeline.start_ns[arrive], to_ns = timeline.end_ns[transfer];
      auto at = std::lower_bound(compute.begin(), compute.end(), std::pair(from_ns - longest_ns, INT64_MIN));
      for (; at != compute.end() && at->first < to_ns; ++at) {
        sum_ns += std::max<int64_t>(0, std::min(at->second, to_ns) - std::max(at->first, from_ns));
      }
    }
  }
  return sum_ns;
}

void expect_no_task_earlier(const Timeline& before, const Timeline& after) {
  for (size_t task = 0; task < before.end_ns.size(); ++task) ASSERT_GE(after.end_ns[task], before.end_ns[task]) << task;
}

void expect_no_task_later(const Timeline& before, const Timeline& after) {
  for (size_t task = 0; task < before.end_ns.size(); ++task) ASSERT_LE(after.end_ns[task], before.end_ns[task]) << task;
}

TEST(Turns, OneGroupCannotRunAloneAndBesideCompute) {
  TestJobShape shape;
  const LinkedJob job = link_job(make_test_job(shape).tables, {});
  ChangeList list;
  for (const char* value : {"none:.*", "full:world"}) list.changes.push_back(*parse_change("overlap", value));
  const auto changed = apply_changes(job, list);
  ASSERT_FALSE(changed.has_value());
  EXPECT_EQ(changed.error().kind, ErrorKind::kUsage);
}

RC_GTEST_PROP(Turns, NothingComputesBesideAGroupThatRunsAlone, ()) {
  TestJobShape shape;
  shape.ranks = 2 * *rc::gen::inRange(1, 4);
  shape.rounds = *rc::gen::inRange(2, 10);
  shape.seed = *rc::gen::arbitrary<uint32_t>();
  shape.metadata = *rc::gen::arbitrary<bool>();
  const LinkedJob job = link_job(make_test_job(shape).tables, {});
  const Timeline before = simulate(job.linked.graph);
  const ScaledGraph all = with_overlap(job, {"none:.*"});
  const Timeline after = simulate(all.graph);
  RC_ASSERT(beside_ns(job, after) == 0 || !all.matches[0].notes.empty());
  expect_no_task_earlier(before, after);
  // Group by group comes to the same as all at once.
  if (shape.metadata) {
    const Timeline one_by_one = simulate(with_overlap(job, {"none:world", "none:pair.*"}).graph);
    RC_ASSERT(one_by_one.end_ns == after.end_ns);
  }
  expect_no_task_later(before, simulate(with_overlap(job, {"full:.*"}).graph));
}

class TracedTurns : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_DATA(data_path(GetParam())); }
};

TEST_P(TracedTurns, NothingComputesBesideAGroupThatRunsAlone) {
  const LinkedJob job = real_job(GetParam());
  const Timeline before = simulate(job.linked.graph);
  const ScaledGraph alone = with_overlap(job, {"none:.*"});
  const Timeline after = simulate(alone.graph);
  EXPECT_EQ(beside_ns(job, after), 0);
  EXPECT_TRUE(alone.matches[0].notes.empty());
  expect_no_task_earlier(before, after);
  expect_no_task_later(before, simulate(with_overlap(job, {"full:.*"}).graph));
}

INSTANTIATE_TEST_SUITE_P(Public, TracedTurns,
                         ::testing::Values("traces/dlrm-8rank-v100", "traces/resnet-ddp-mi300x",
                                           "traces/resnet-ddp-a100", "traces/recsys-a100",
                                           "traces/recsys-cuda-graphs-a100", "traces/sampled-2-of-128",
                                           "vcluster/tiny-2x2x2"),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace lumos

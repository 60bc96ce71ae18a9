// What holds for random graphs holds for real ones: the properties of changes and gains on public traces.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "lumos/sim/simulate.h"
#include "lumos/whatif/edit/change.h"
#include "lumos/whatif/gains/gains.h"
#include "lumos/whatif/gains/jitter.h"
#include "lumos/whatif/test_traces.h"

namespace lumos {
namespace {

const std::vector<std::string>& traces() {
  static const std::vector<std::string> paths = {"traces/h100/bert-small.json.gz", "traces/cuda-sync/alexnet.json.gz",
                                                 "traces/llama-tp2-rtx4090",
                                                 "traces/particle-transformer-a100/batch16.json.gz"};
  return paths;
}

/// Each job read once for all cases.
const LinkedJob& job_of(const std::string& path) {
  static std::map<std::string, LinkedJob> jobs;
  const auto [job, fresh] = jobs.try_emplace(path);
  if (fresh) job->second = real_job(path);
  return job->second;
}

double last_end(const Timeline& timeline) {
  return static_cast<double>(*std::max_element(timeline.end_ns.begin(), timeline.end_ns.end()));
}

/// The tasks whose whole duration decides when the last one ends.
std::vector<bool> on_path(const ExecGraph& graph, const Timeline& timeline) {
  std::vector<bool> out(graph.size(), false);
  const auto last = std::max_element(timeline.end_ns.begin(), timeline.end_ns.end());
  uint32_t task = static_cast<uint32_t>(last - timeline.end_ns.begin());
  for (bool whole = true;;) {
    if (whole) out[task] = true;
    const uint32_t e = timeline.binding[task];
    if (e == kNoIndex) return out;
    whole = !graph.edges[e].from_start;
    task = graph.edges[e].source;
  }
}

Candidate one_task(const ExecGraph& graph, uint32_t task) {
  Candidate candidate;
  candidate.kind = CandidateKind::kKernel;
  candidate.tasks = {task};
  candidate.time_ns = graph.duration_ns[task];
  return candidate;
}

class RealTraces : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_DATA(data_path(GetParam())); }
};

class RealHosts : public RealTraces {};

TEST_P(RealTraces, AFactorOfOneChangesNothingToTheNanosecond) {
  const LinkedJob& job = job_of(GetParam());
  for (const char* selector : {"kernel:.*=1", "op:.*=1", "op-cpu:.*=1", "host=1"}) {
    const auto scaled = scale_graph(job, {*parse_scale(selector)});
    ASSERT_TRUE(scaled.has_value()) << selector;
    EXPECT_EQ(scaled->graph.duration_ns, job.linked.graph.duration_ns) << selector;
    EXPECT_EQ(simulate(scaled->graph).end_ns, simulate(job.linked.graph).end_ns) << selector;
  }
}

TEST_P(RealTraces, FreeGainsAtLeastTwiceAsFastAndThatAtLeastTenPercent) {
  const LinkedJob& job = job_of(GetParam());
  GainOptions everything;
  everything.least_share = 0;
  const std::vector<Candidate> candidates = find_candidates(job, 0);
  const std::vector<Gain> gains = find_gains(job, candidates, last_end, everything);
  ASSERT_FALSE(gains.empty());
  const double base_ns = last_end(simulate(job.linked.graph));
  for (const Gain& gain : gains) {
    const Candidate& candidate = candidates[gain.candidate];
    EXPECT_GE(gain.tenth_ns, 0) << candidate.name;
    EXPECT_GE(gain.half_ns, gain.tenth_ns) << candidate.name;
    EXPECT_GE(gain.free_ns, gain.half_ns) << candidate.name;
    const double most_ns = candidate.waits.empty() ? static_cast<double>(candidate.time_ns) : base_ns;
    EXPECT_LE(gain.free_ns, most_ns) << candidate.name;
  }
}

TEST_P(RealTraces, AFasterTaskGainsWhatItHasOnThePathInTheLimitAndNeverMore) {
  const LinkedJob& job = job_of(GetParam());
  const ExecGraph& graph = job.linked.graph;
  const Timeline timeline = simulate(graph);
  const std::vector<bool> path = on_path(graph, timeline);
  const double base_ns = last_end(timeline);
  const bool holds = rc::check([&] {
    const uint32_t task = *rc::gen::inRange<uint32_t>(0, graph.size());
    const Candidate candidate = one_task(graph, task);
    double before_ns = 0;
    for (double factor : {0.999, 0.9, 0.5, 0.0}) {
      const ExecGraph changed = with_candidate(job, candidate, factor);
      const double gain_ns = base_ns - last_end(simulate(changed));
      const double taken_ns = static_cast<double>(graph.duration_ns[task] - changed.duration_ns[task]);
      RC_ASSERT(gain_ns >= before_ns);
      RC_ASSERT(gain_ns <= taken_ns);
      RC_ASSERT(path[task] || gain_ns == 0);
      before_ns = gain_ns;
    }
    // One nanosecond less: all of it is gained, unless another path of the same length ends beside it.
    if (graph.duration_ns[task] == 0 || !path[task]) return;
    ExecGraph changed = graph;
    --changed.duration_ns[task];
    const double gain_ns = base_ns - last_end(simulate(changed));
    RC_ASSERT(gain_ns == 0 || gain_ns == 1);
  });
  EXPECT_TRUE(holds);
}

TEST_P(RealTraces, MostOfThePathGainsEveryNanosecondThatGoes) {
  const LinkedJob& job = job_of(GetParam());
  const ExecGraph& graph = job.linked.graph;
  const Timeline timeline = simulate(graph);
  const std::vector<bool> path = on_path(graph, timeline);
  std::vector<uint32_t> tasks;
  for (uint32_t task = 0; task < graph.size(); ++task) {
    if (path[task] && graph.duration_ns[task] > 0) tasks.push_back(task);
  }
  ASSERT_FALSE(tasks.empty());
  constexpr size_t kTried = 50;
  size_t tried = 0, gained = 0;
  for (size_t i = 0; i < tasks.size(); i += std::max<size_t>(1, tasks.size() / kTried)) {
    ExecGraph changed = graph;
    --changed.duration_ns[tasks[i]];
    ++tried;
    gained += last_end(timeline) - last_end(simulate(changed)) == 1 ? 1 : 0;
  }
  // Paths of equal length to the nanosecond are rare.
  EXPECT_GE(static_cast<double>(gained), 0.9 * static_cast<double>(tried));
}

TEST_P(RealTraces, ChangesThatTakeAwayNeverLengthenTheStep) {
  const LinkedJob& job = job_of(GetParam());
  const double base_ns = last_end(simulate(job.linked.graph));
  const std::pair<const char*, const char*> less[] = {{"remove", "kernel:.*elementwise.*"},
                                                      {"remove", "op:aten::.*"},
                                                      {"fuse", "op:aten::.*"},
                                                      {"no-launch-overhead", ""},
                                                      {"drop-sync", ".*"}};
  for (const auto& [option, value] : less) {
    ChangeList list;
    list.changes.push_back(*parse_change(option, value));
    const auto changed = apply_changes(job, list);
    if (!changed) continue;  // nothing there to take away
    EXPECT_LE(last_end(simulate(changed->graph)), base_ns) << option << " " << value;
  }
}

// The orders of threads and streams are fixed, so that every task is done when the longest of many sums is over, and
// none of these grows. What a step takes between two of its ends may: faster_host_test.cc of report/ bounds that.
TEST_P(RealHosts, AFasterHostEndsNoTaskLater) {
  const LinkedJob& job = job_of(GetParam());
  const Timeline base = simulate(job.linked.graph);
  ChangeList no_launches;
  no_launches.changes.push_back(*parse_change("no-launch-overhead", ""));
  std::vector<Result<ScaledGraph>> faster{apply_changes(job, no_launches)};
  for (const char* factor : {"host=0.9", "host=0.5", "host=0"}) {
    faster.push_back(scale_graph(job, {*parse_scale(factor)}));
  }
  for (const Result<ScaledGraph>& changed : faster) {
    if (!changed) continue;  // no host or no launch in the trace
    const Timeline run = simulate(changed->graph);
    for (uint32_t task = 0; task < job.linked.graph.size(); ++task) {
      ASSERT_LE(run.end_ns[task], base.end_ns[task]) << changed->matches[0].text << ", task " << task;
    }
  }
}

TEST_P(RealTraces, FittedChanceKeepsTheMean) {
  const LinkedJob& job = job_of(GetParam());
  const Spread spread = fit_spread(job);
  JitterOptions options;
  options.samples = 10;
  const std::vector<double> ends = jittered_steps_ns(job.linked.graph, last_end, spread, options);
  double mean_ns = 0;
  for (double end : ends) mean_ns += end / static_cast<double>(ends.size());
  EXPECT_NEAR(mean_ns / last_end(simulate(job.linked.graph)), 1, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Public, RealTraces, ::testing::ValuesIn(traces()),
                         [](const auto& info) { return test_name(info.param); });

INSTANTIATE_TEST_SUITE_P(Public, RealHosts,
                         ::testing::Values("traces/recsys-cuda-graphs-a100", "traces/resnet-ddp-mi300x",
                                           "traces/dlrm-8rank-v100", "traces/vllm-eager-b200",
                                           "traces/odd/cpu-only.json.gz", "vcluster/tiny-2x2x2"),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace lumos

#include "lumos/whatif/edit/change.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "lumos/base/test_folder.h"
#include "lumos/graph/test_job.h"
#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"
#include "lumos/whatif/gains/jitter.h"

namespace lumos {
namespace {

int64_t last_end(const ExecGraph& graph) {
  const Timeline timeline = simulate(graph);
  return timeline.end_ns.empty() ? 0 : *std::max_element(timeline.end_ns.begin(), timeline.end_ns.end());
}

ChangeList list_of(std::string_view option, std::string_view value) {
  ChangeList list;
  auto change = parse_change(option, value);
  EXPECT_TRUE(change.has_value()) << (change ? "" : change.error().message);
  list.changes.push_back(*change);
  list.gpus_per_node = 2;
  return list;
}

ScaledGraph changed(const LinkedJob& job, std::string_view option, std::string_view value) {
  auto graph = apply_changes(job, list_of(option, value));
  EXPECT_TRUE(graph.has_value()) << (graph ? "" : graph.error().message);
  return std::move(*graph);
}

LinkedJob test_job(uint32_t seed) {
  TestJobShape shape;
  shape.rounds = 6;
  shape.seed = seed;
  return link_job(make_test_job(shape).tables, {});
}

LinkedJob job_of(ExecGraph graph) {
  LinkedJob job;
  job.linked.graph = std::move(graph);
  job.matches.rank_begin = {0, 0};
  return job;
}

TEST(Change, WrongOnesAreExplained) {
  const std::pair<const char*, const char*> wrong[] = {
      {"remove", "gemm"},       {"remove", "kernel:("},    {"fuse", "kernel:x"},      {"overlap", "half:x"},
      {"bandwidth", "inter=0"}, {"bandwidth", "outer=2x"}, {"latency", "inter=fast"}, {"drop-sync", "["}};
  for (const auto& [option, value] : wrong) {
    const auto change = parse_change(option, value);
    ASSERT_FALSE(change.has_value()) << option << " " << value;
    EXPECT_EQ(change.error().kind, ErrorKind::kUsage);
  }
}

TEST(Change, WhatMatchesNothingIsAnError) {
  const LinkedJob job = test_job(1);
  const std::pair<const char*, const char*> none[] = {{"remove", "kernel:none"},
                                                      {"remove", "op:none"},
                                                      {"fuse", "op:none"},
                                                      {"overlap", "none:none"},
                                                      {"drop-sync", "none"}};
  for (const auto& [option, value] : none) {
    const auto graph = apply_changes(job, list_of(option, value));
    ASSERT_FALSE(graph.has_value()) << option;
    EXPECT_EQ(graph.error().kind, ErrorKind::kUsage);
  }
}

TEST(Change, ARemovedKernelTakesItsLaunchWithIt) {
  const LinkedJob job = job_of(small_step());
  const ScaledGraph without = changed(job, "remove", "kernel:.*gemm.*");
  EXPECT_EQ(without.matches[0].tasks, 1u);
  EXPECT_DOUBLE_EQ(without.matches[0].time_ms, 500e-6);
  // The launch of 50 ns at task 2 and the kernel at task 8.
  EXPECT_EQ(without.graph.duration_ns[2], 0);
  EXPECT_EQ(without.graph.duration_ns[8], 0);
  EXPECT_EQ(without.graph.duration_ns[4], 50);
  // The collective no longer waits for it: its launch, now 50 ns earlier, decides.
  const Timeline timeline = simulate(without.graph);
  EXPECT_EQ(timeline.start_ns[9], timeline.start_ns[4] + 100);
}

TEST(Change, ARemovedOperatorTakesAllThatItRuns) {
  const ScaledGraph without = changed(job_of(small_step()), "remove", "op:aten::mm");
  for (uint32_t task : {1u, 2u, 3u, 4u, 5u, 8u, 9u}) EXPECT_EQ(without.graph.duration_ns[task], 0) << task;
  EXPECT_EQ(without.graph.duration_ns[0], 100);
}

TEST(Change, ADroppedSynchroniseLetsTheHostGoOn) {
  const LinkedJob job = job_of(small_step());
  const ScaledGraph without = changed(job, "drop-sync", "cudaDeviceSynchronize");
  const Timeline timeline = simulate(without.graph);
  EXPECT_EQ(timeline.start_ns[11], timeline.end_ns[7]);
  EXPECT_LT(timeline.end_ns[11], simulate(job.linked.graph).end_ns[11]);
}

TEST(Change, LaunchesWithoutOverheadCostNoTimeAndNoLatency) {
  const ScaledGraph without = changed(job_of(small_step()), "no-launch-overhead", "");
  EXPECT_EQ(without.matches[0].tasks, 2u);
  const Timeline timeline = simulate(without.graph);
  EXPECT_EQ(timeline.start_ns[8], timeline.start_ns[2]);
  EXPECT_EQ(timeline.end_ns[2], timeline.start_ns[2]);
}

TEST(Change, KernelsOfAnOperatorBecomeTheLongestOfThemAndMatrixProductsStay) {
  TestGraph g(1, 1);
  const uint32_t op = g.row(EventKind::kCpuOp, "block", 0, 0, 100);
  std::vector<uint32_t> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(g.row(EventKind::kRuntime, "cudaLaunchKernel", 0, 10 + 20 * i, 10, i));
  const uint32_t add = g.row(EventKind::kKernel, "vectorized_elementwise_kernel", 1, 50, 30, 0);
  const uint32_t gemm = g.row(EventKind::kKernel, "ampere_sgemm_128x64", 1, 80, 200, 1);
  const uint32_t mul = g.row(EventKind::kKernel, "vectorized_elementwise_kernel", 1, 280, 40, 2);
  uint32_t last = g.task(TaskKind::kHost, op, 0, 10, {});
  std::vector<uint32_t> launches;
  for (uint32_t call : calls) {
    launches.push_back(last = g.task(TaskKind::kCall, call, 0, 10, {edge(last, EdgeKind::kThread)}));
  }
  uint32_t before = g.task(TaskKind::kKernel, add, 50, 30, {edge(launches[0], EdgeKind::kLaunch, 5)});
  for (const auto& [row, launch, ns] : {std::tuple{gemm, launches[1], 200}, std::tuple{mul, launches[2], 40}}) {
    before =
        g.task(TaskKind::kKernel, row, 0, ns, {edge(launch, EdgeKind::kLaunch, 5), edge(before, EdgeKind::kStream, 1)});
  }
  const ScaledGraph fused = changed(job_of(g.finish({})), "fuse", "op:block");
  EXPECT_EQ(fused.matches[0].tasks, 2u);
  EXPECT_EQ(fused.graph.duration_ns[4], 40);
  EXPECT_EQ(fused.graph.duration_ns[5], 200);
  EXPECT_EQ(fused.graph.duration_ns[6], 0);
  EXPECT_EQ(fused.graph.duration_ns[launches[2]], 0);
}

TEST(Change, LinksOfGroupsWithinANodeAreNotThoseAcross) {
  const LinkedJob job = test_job(3);  // ranks 0 and 1 on one node, 2 and 3 on the other; pairs and all four
  const ScaledGraph inter = changed(job, "bandwidth", "inter=2x");
  const ScaledGraph intra = changed(job, "bandwidth", "intra=2x");
  EXPECT_EQ(inter.matches[0].tasks, 4u * 6);
  EXPECT_EQ(intra.matches[0].tasks, 4u * 6);
  size_t shorter = 0;
  for (uint32_t task = 0; task < inter.graph.size(); ++task) {
    if (inter.graph.duration_ns[task] < job.linked.graph.duration_ns[task]) ++shorter;
  }
  EXPECT_EQ(shorter, inter.matches[0].tasks);
}

TEST(Change, GroupsWhoseListIsCutCrossNodesWhenTheyHaveMoreMembersThanOne) {
  for (const bool none_shown : {false, true}) {
    TestJobShape shape;
    shape.rounds = 6;
    TestJob made = make_test_job(shape);
    for (EventTable& table : made.tables) {
      auto names = std::make_shared<NamePool>();
      for (uint32_t id = 0; id < table.names->size(); ++id) names->intern(table.names->text(NameId{id}));
      for (CollectiveDetail& detail : table.collectives) {
        const std::string ranks(table.names->text(detail.group_ranks));
        detail.group_ranks = names->intern(none_shown ? "" : ranks.substr(0, ranks.size() - 1) + ", ...]");
      }
      table.names = names;
    }
    const LinkedJob job = link_job(std::move(made.tables), {});
    const ScaledGraph inter = changed(job, "bandwidth", "inter=2x");
    EXPECT_EQ(inter.matches[0].tasks, 4u * 6);
    // Pairs: their first ranks tell, or nothing does and that is said.
    EXPECT_EQ(inter.matches[0].notes.empty(), !none_shown);
    if (!none_shown) {
      EXPECT_EQ(changed(job, "bandwidth", "intra=2x").matches[0].tasks, 4u * 6);
    }
  }
}

TEST(Change, AFileSaysTheSameAsTheOptions) {
  const TempFolder folder;
  const std::string path =
      folder.write("changes.toml", "scale = 'host=0.5'\nremove = ['kernel:gemm', 'op:x']\nno_launch_overhead = true\n");
  ChangeList list;
  ASSERT_TRUE(read_changes(path, list).has_value());
  ASSERT_EQ(list.scales.size(), 1u);
  ASSERT_EQ(list.changes.size(), 3u);
  EXPECT_EQ(list.changes[0].text, "--remove kernel:gemm");
  EXPECT_EQ(list.changes[2].kind, ChangeKind::kNoLaunchOverhead);
  folder.write("changes.toml", "remove = 3\n");
  EXPECT_FALSE(read_changes(path, list).has_value());
}

TEST(Change, AFileMayPairSelectorsWithFactors) {
  const TempFolder folder;
  ChangeList pairs, texts;
  ASSERT_TRUE(read_changes(
      folder.write("a.json", R"({"scale": {"host": 0.5, "comm:.*": "2"}, "bandwidth": {"inter": 2}})"), pairs));
  ASSERT_TRUE(
      read_changes(folder.write("b.toml", "scale = ['host=0.5', 'comm:.*=2']\nbandwidth = 'inter=2'\n"), texts));
  ASSERT_EQ(pairs.scales.size(), 2u);
  ASSERT_EQ(pairs.changes.size(), 1u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(pairs.scales[i].text, texts.scales[i].text);
    EXPECT_EQ(pairs.scales[i].factor, texts.scales[i].factor);
  }
  EXPECT_EQ(pairs.changes[0].text, texts.changes[0].text);
}

TEST(Change, AFileThatSaysSomethingElseIsRefusedWithThePlace) {
  const TempFolder folder;
  for (const char* text :
       {R"({"scale": true})", R"({"scale": [["host=1"]]})", R"({"scale": {"host": null}})",
        R"({"scale": {"host": [1]}})", R"({"remove": 3})", R"({"batch_size": 0})", R"({"batch_size": -3})",
        R"({"gpus_per_node": 0})", R"({"gpus_per_node": "8"})", R"({"scales": "host=1"})"}) {
    ChangeList list;
    const Status status = read_changes(folder.write("changes.json", text), list);
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().kind, ErrorKind::kUsage) << status.error().message;
  }
  ChangeList list;
  const Status status = read_changes(folder.write("changes.json", R"({"scale": {"host": [1]}})"), list);
  EXPECT_NE(status.error().message.find("changes.json: scale.host: must be a text or a number"), std::string::npos)
      << status.error().message;
}

RC_GTEST_PROP(Change, LessWorkNeverTakesLongerAndTakingTurnsNeverLess, ()) {
  const LinkedJob job = test_job(*rc::gen::arbitrary<uint32_t>());
  const int64_t base = last_end(job.linked.graph);
  RC_ASSERT(last_end(changed(job, "remove", "kernel:gemm").graph) <= base);
  RC_ASSERT(last_end(changed(job, "no-launch-overhead", "").graph) <= base);
  RC_ASSERT(last_end(changed(job, "overlap", "full:world").graph) <= base);
  RC_ASSERT(last_end(changed(job, "overlap", "none:.*").graph) >= base);
  RC_ASSERT(last_end(changed(job, "bandwidth", "inter=1x").graph) == base);
  RC_ASSERT(last_end(changed(job, "latency", "intra=1").graph) == base);
}

RC_GTEST_PROP(Change, JitterIsTheSameForAnyNumberOfThreadsAndNoneChangesNothing, ()) {
  const LinkedJob job = test_job(*rc::gen::arbitrary<uint32_t>());
  const ExecGraph& graph = job.linked.graph;
  const auto step_of = [](const Timeline& run) {
    return static_cast<double>(*std::max_element(run.end_ns.begin(), run.end_ns.end()));
  };
  JitterOptions options;
  options.samples = 6, options.threads = 1;
  for (const Spread& spread : {uniform_spread(graph, 0.1), fit_spread(job)}) {
    options.seed = 1, options.threads = 1;
    const std::vector<double> one = jittered_steps_ns(graph, step_of, spread, options);
    options.threads = 3;
    RC_ASSERT(one == jittered_steps_ns(graph, step_of, spread, options));
    options.seed = 2;
    // Equal work of equal times, as some of these jobs have only, does not vary.
    if (spread.kernel_sigma > 0) RC_ASSERT(one != jittered_steps_ns(graph, step_of, spread, options));
  }
  const Spread none = uniform_spread(graph, 0);
  RC_ASSERT(jittered_steps_ns(graph, step_of, none, options).front() == static_cast<double>(last_end(graph)));
}

}  // namespace
}  // namespace lumos

#include "lumos/graph/rank/build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "lumos/base/parallel.h"
#include "lumos/base/test_data.h"
#include "lumos/graph/join.h"
#include "lumos/graph/test_program.h"
#include "lumos/trace/kineto/reader.h"

namespace lumos {
namespace {

std::vector<Edge> edges_of(const ExecGraph& graph, uint32_t task) {
  return {graph.edges.begin() + graph.edge_begin[task], graph.edges.begin() + graph.edge_begin[task + 1]};
}

// The task of a row that is of this kind; the first one.
uint32_t task_of(const ExecGraph& graph, uint32_t row, TaskKind kind) {
  for (uint32_t t = 0; t < graph.size(); ++t) {
    if (graph.event[t] == row && graph.kind[t] == kind) return t;
  }
  return kNoIndex;
}

const Edge* edge_between(const ExecGraph& graph, uint32_t target, uint32_t source) {
  for (uint32_t e = graph.edge_begin[target]; e < graph.edge_begin[target + 1]; ++e) {
    if (graph.edges[e].source == source) return &graph.edges[e];
  }
  return nullptr;
}

TEST(Build, ALaunchReachesItsKernelFromTheStartOfTheCall) {
  TestProgram p;
  const uint32_t main = p.thread(), stream = p.stream(7);
  const uint32_t first = p.launch(main, stream, "first", 50000);
  const uint32_t second = p.launch(main, stream, "second", 1000);
  const ExecGraph graph = build_graph(p.rows.finish(), {});
  const uint32_t a = task_of(graph, first, TaskKind::kKernel), b = task_of(graph, second, TaskKind::kKernel);
  ASSERT_EQ(edges_of(graph, a).size(), 1u);
  EXPECT_EQ(edges_of(graph, a)[0].kind, EdgeKind::kLaunch);
  EXPECT_TRUE(edges_of(graph, a)[0].from_start);
  ASSERT_EQ(edges_of(graph, b).size(), 2u);
  EXPECT_EQ(edge_between(graph, b, a)->kind, EdgeKind::kStream);
}

TEST(Build, ASynchroniseIsEnteredAndReturnedFromAndItsWaitTakesNoTime) {
  TestProgram p;
  const uint32_t main = p.thread(), stream = p.stream(7);
  const uint32_t kernel = p.launch(main, stream, "k", 900'000);
  const uint32_t sync = p.blocking_call(main, "cudaDeviceSynchronize", p.stream_end(stream));
  const ExecGraph graph = build_graph(p.rows.finish(), {});
  const uint32_t enter = task_of(graph, sync, TaskKind::kCall);
  const uint32_t back = task_of(graph, sync, TaskKind::kSyncReturn);
  ASSERT_NE(back, kNoIndex);
  EXPECT_LT(graph.duration_ns[enter], 10'000);
  EXPECT_EQ(graph.duration_ns[back], 0);
  EXPECT_EQ(edge_between(graph, back, enter)->kind, EdgeKind::kThread);
  EXPECT_EQ(edge_between(graph, back, task_of(graph, kernel, TaskKind::kKernel))->kind, EdgeKind::kSync);
}

TEST(Build, ACollectiveArrivesAndThenTransfers) {
  TestProgram p;
  const uint32_t main = p.thread(), stream = p.stream(20);
  const uint32_t kernel = p.launch(main, stream, kNcclKernel, 70'000);
  const ExecGraph graph = build_graph(p.rows.finish(), {});
  const uint32_t arrive = task_of(graph, kernel, TaskKind::kArrive);
  const uint32_t transfer = task_of(graph, kernel, TaskKind::kTransfer);
  EXPECT_EQ(graph.duration_ns[arrive], 0);
  EXPECT_EQ(graph.duration_ns[transfer], 70'000);
  EXPECT_EQ(edge_between(graph, transfer, arrive)->kind, EdgeKind::kTransferOf);
}

TEST(Build, WorkWithoutALaunchKeepsItsGap) {
  TestTable t;
  const uint32_t thread = t.thread(), stream = t.stream(7);
  t.op(thread, "op", 1000, 100);
  const uint32_t first = t.row(EventKind::kKernel, "a", stream, 41'000, 1000);
  const uint32_t second = t.row(EventKind::kKernel, "b", stream, 50'000, 1000);
  const ExecGraph graph = build_graph(t.finish(), {});
  const uint32_t before = task_of(graph, first, TaskKind::kGap), between = task_of(graph, second, TaskKind::kGap);
  EXPECT_EQ(graph.duration_ns[before], 40'000);
  EXPECT_EQ(graph.duration_ns[between], 8'000);
  EXPECT_EQ(edges_of(graph, between).size(), 1u);
  EXPECT_NE(edge_between(graph, task_of(graph, second, TaskKind::kKernel), between), nullptr);
}

TEST(Build, KernelsOfAGraphLaunchAllWaitForIt) {
  TestTable t;
  const uint32_t thread = t.thread(), s7 = t.stream(7), s8 = t.stream(8);
  const uint32_t launch = t.call(thread, "cudaGraphLaunch", 1000, 9000);
  std::vector<uint32_t> rows;
  for (int i = 0; i < 4; ++i) rows.push_back(t.work(launch, i % 2 ? s8 : s7, "node", 12'000 + 3000 * i, 2500));
  const ExecGraph graph = build_graph(t.finish(), {});
  const uint32_t call = task_of(graph, launch, TaskKind::kCall);
  for (uint32_t row : rows) {
    const Edge* edge = edge_between(graph, task_of(graph, row, TaskKind::kKernel), call);
    ASSERT_NE(edge, nullptr);
    EXPECT_EQ(edge->kind, EdgeKind::kLaunch);
  }
}

TestProgram two_streams(bool sync_rows = false) {
  TestMachine machine;
  machine.sync_rows = sync_rows;
  TestProgram p(machine);
  const uint32_t main = p.thread(), compute = p.stream(7), side = p.stream(20);
  for (int i = 0; i < 6; ++i) {
    p.open(main, "ProfilerStep#" + std::to_string(i), EventKind::kAnnotation);
    p.launch(main, compute, "gemm", 40000);
    p.wait(main, side, p.record(main, compute));
    p.launch(main, side, "copy", 30000);
    p.wait(main, compute, p.record(main, side));
    p.launch(main, compute, "gemm", 10000);
    p.synchronize_device(main);
    p.close(main);
  }
  return p;
}

uint64_t count_edges(const ExecGraph& graph, EdgeKind kind) {
  return static_cast<uint64_t>(
      std::count_if(graph.edges.begin(), graph.edges.end(), [&](const Edge& e) { return e.kind == kind; }));
}

TEST(Build, DependenciesBetweenStreamsAndTheOptionToLeaveThemOut) {
  TestProgram with = two_streams(), without = two_streams(), recorded = two_streams(true);
  const ExecGraph graph = build_graph(with.rows.finish(), {});
  EXPECT_EQ(count_edges(graph, EdgeKind::kInterStream), with.waits().size());
  BuildOptions options;
  options.inter_stream = false;
  EXPECT_EQ(count_edges(build_graph(without.rows.finish(), options), EdgeKind::kInterStream), 0u);
  const ExecGraph told = build_graph(recorded.rows.finish(), {});
  EXPECT_EQ(count_edges(told, EdgeKind::kInterStream), recorded.waits().size());
  for (const Edge& e : told.edges) {
    if (e.kind == EdgeKind::kInterStream) {
      EXPECT_TRUE(e.recorded);
    }
  }
  for (const Edge& e : graph.edges) {
    if (e.kind == EdgeKind::kInterStream) {
      EXPECT_FALSE(e.recorded);
    }
  }
}

TEST(Build, StepsFollowOneAnotherAndTheLastOneHasAnEnd) {
  TestProgram p = two_streams();
  const ExecGraph graph = build_graph(p.rows.finish(), {});
  const std::vector<Step>& steps = graph.ranks[0].steps;
  ASSERT_EQ(steps.size(), 6u);
  for (size_t i = 0; i + 1 < steps.size(); ++i) EXPECT_EQ(steps[i].next_task, steps[i + 1].first_task);
  EXPECT_EQ(steps.back().next_task, kNoIndex);
  EXPECT_NE(steps.back().last_task, kNoIndex);
  EXPECT_EQ(steps[0].last_gpu_tasks.size(), 2u);
}

TEST(Build, WithoutStepsTheTraceIsOne) {
  TestProgram p;
  const uint32_t main = p.thread(), stream = p.stream(7);
  const uint32_t kernel = p.launch(main, stream, "k", 5000);
  const ExecGraph graph = build_graph(p.rows.finish(), {});
  ASSERT_EQ(graph.ranks[0].steps.size(), 1u);
  const Step& step = graph.ranks[0].steps[0];
  EXPECT_EQ(step.name, "trace");
  const std::set<uint32_t> last(step.last_gpu_tasks.begin(), step.last_gpu_tasks.end());
  EXPECT_TRUE(last.count(task_of(graph, kernel, TaskKind::kKernel)));
}

TEST(Build, GivenConstantsReplaceTheFit) {
  TestProgram a = two_streams(), b = two_streams();
  std::vector<Constant> constants = build_graph(a.rows.finish(), {}).ranks[0].constants;
  for (Constant& c : constants) c.value_ns = c.name == "event" ? 123456 : c.value_ns;
  BuildOptions options;
  options.constants = &constants;
  const ExecGraph graph = build_graph(b.rows.finish(), options);
  for (const Edge& e : graph.edges) {
    if (e.kind == EdgeKind::kInterStream) {
      EXPECT_EQ(e.lag_ns, 123456);
    }
  }
}

TEST(Build, NothingGivesNothing) {
  TestTable t;
  const ExecGraph graph = build_graph(t.finish(), {});
  EXPECT_EQ(graph.size(), 0u);
  EXPECT_EQ(graph.edge_begin, std::vector<uint32_t>{0});
  ASSERT_EQ(graph.ranks.size(), 1u);
  EXPECT_TRUE(graph.ranks[0].steps.empty());
}

TEST(JoinRanks, PutsRanksSideBySide) {
  TestProgram a = two_streams(), b = two_streams();
  const ExecGraph one = build_graph(a.rows.finish(), {});
  std::vector<ExecGraph> both;
  both.push_back(one);
  both.push_back(build_graph(b.rows.finish(), {}));
  const ExecGraph joined = join_ranks(std::move(both));
  const uint32_t n = one.size();
  ASSERT_EQ(joined.size(), 2 * n);
  ASSERT_EQ(joined.ranks.size(), 2u);
  EXPECT_EQ(joined.ranks[1].first_task, n);
  EXPECT_EQ(joined.ranks[1].end_task, 2 * n);
  for (uint32_t t = 0; t < n; ++t) {
    const std::vector<Edge> first = edges_of(joined, t), second = edges_of(joined, n + t);
    ASSERT_EQ(first.size(), second.size());
    for (size_t e = 0; e < first.size(); ++e) EXPECT_EQ(first[e].source + n, second[e].source);
    EXPECT_EQ(joined.processors[joined.processor[n + t]].rank_index, 1u);
  }
  EXPECT_EQ(joined.ranks[1].steps[2].first_task, one.ranks[0].steps[2].first_task + n);
  EXPECT_EQ(joined.ranks[1].steps.back().next_task, kNoIndex);
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

bool same(const ExecGraph& a, const ExecGraph& b) {
  bool constants = a.ranks[0].constants.size() == b.ranks[0].constants.size();
  for (size_t i = 0; constants && i < a.ranks[0].constants.size(); ++i) {
    constants = a.ranks[0].constants[i].value_ns == b.ranks[0].constants[i].value_ns;
  }
  return constants && same_bytes(a.event, b.event) && same_bytes(a.kind, b.kind) &&
         same_bytes(a.processor, b.processor) && same_bytes(a.duration_ns, b.duration_ns) &&
         same_bytes(a.measured_start_ns, b.measured_start_ns) && same_bytes(a.edge_begin, b.edge_begin) &&
         same_bytes(a.edges, b.edges);
}

TEST(Build, IsTheSameForAnyNumberOfThreads) {
  for (const char* name : {"vcluster/tiny-2x2x2/rank3.pt.trace.json.gz", "traces/dlrm-8rank-v100/rank1.json.gz",
                           "traces/resnet-ddp-mi300x/rank0.json.gz"}) {
    const std::string path = data_path(name);
    SKIP_WITHOUT_DATA(path);
    std::vector<ExecGraph> graphs(4);
    for (int threads : {1, 4}) {
      ReadOptions options;
      options.threads = threads;
      auto table = read_trace(path, options);
      ASSERT_TRUE(table.has_value());
      graphs[threads - 1] = build_graph(std::make_shared<const EventTable>(std::move(*table)), {});
    }
    EXPECT_TRUE(same(graphs[0], graphs[3])) << name;
    // Built side by side with others.
    parallel_for(2, 2, [&](size_t i) { graphs[1 + i] = build_graph(graphs[0].ranks[0].table, {}); });
    EXPECT_TRUE(same(graphs[0], graphs[1])) << name;
    EXPECT_TRUE(same(graphs[0], graphs[2])) << name;
  }
}

std::vector<std::string> all_traces() {
  std::vector<std::string> out;
  for (const char* folder : {"traces", "vcluster"}) {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data_path(folder), error)) {
      const std::string path = entry.path().string();
      // Of the emulated sets the two large ones are represented by one rank each.
      const bool large = path.find("15b-2x2x4/") != std::string::npos || path.find("44b") != std::string::npos;
      if (large && path.find("rank0.") == std::string::npos) continue;
      if (path.size() > 8 && path.substr(path.size() - 8) == ".json.gz") out.push_back(path);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// What must hold of any graph; empty when it does.
std::string flaw_of(const ExecGraph& graph) {
  const uint32_t n = graph.size();
  if (graph.edge_begin.size() != n + 1u || graph.edge_begin.back() != graph.edges.size()) return "edges are not packed";
  std::vector<uint32_t> last(graph.processors.size(), kNoIndex);
  for (uint32_t t = 0; t < n; ++t) {
    if (graph.duration_ns[t] < 0) return "a task of negative duration";
    if (graph.processor[t] != kNoProcessor && graph.processor[t] >= graph.processors.size()) return "no such processor";
    for (uint32_t e = graph.edge_begin[t]; e < graph.edge_begin[t + 1]; ++e) {
      if (graph.edges[e].source >= t) return "an edge that goes down: a cycle";
      if (graph.edges[e].confidence_pct > 100) return "more than certain";
    }
    const uint32_t processor = graph.processor[t];
    if (processor == kNoProcessor || graph.processors[processor].is_gpu) continue;
    // Tasks of a thread are a chain.
    if (last[processor] != kNoIndex && edge_between(graph, t, last[processor]) == nullptr) return "a torn thread";
    last[processor] = t;
  }
  for (const Step& step : graph.ranks[0].steps) {
    if (step.first_task >= n) return "a step without a beginning";
    for (uint32_t task : step.last_gpu_tasks) {
      if (task >= n) return "a step without an end";
    }
  }
  return "";
}

TEST(Build, EveryTraceGivesAGraphWithoutCycles) {
  const std::vector<std::string> paths = all_traces();
  if (paths.empty()) GTEST_SKIP() << "no traces below " << data_path("") << "; set LUMOS_DATA";
  std::vector<std::string> flaws(paths.size());
  std::vector<uint32_t> dropped(paths.size(), 0);
  std::vector<size_t> edges(paths.size(), 0);
  parallel_for(paths.size(), 0, [&](size_t i) {
    ReadOptions options;
    options.threads = 1;
    auto table = read_trace(paths[i], options);
    if (!table) return;  // no trace at all: the reader's matter
    const ExecGraph graph = build_graph(std::make_shared<const EventTable>(std::move(*table)), {});
    flaws[i] = flaw_of(graph);
    dropped[i] = graph.ranks[0].dropped_edges;
    edges[i] = graph.edges.size();
  });
  for (size_t i = 0; i < paths.size(); ++i) {
    EXPECT_EQ(flaws[i], "") << paths[i];
    // Contradictions between what was inferred are rare, or inference is wrong.
    EXPECT_LE(dropped[i], 1 + edges[i] / 1000) << paths[i];
  }
}

}  // namespace
}  // namespace lumos

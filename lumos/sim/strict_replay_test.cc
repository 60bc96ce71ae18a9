// What makes a strict replay honest: measured times choose edges and fit constants, but never drive the run. And what a
// graph is for: its step responds to change as the real one does.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lumos/base/json_value.h"
#include "lumos/base/test_data.h"
#include "lumos/graph/host/host_waits.h"
#include "lumos/graph/rank/rank_programs.h"
#include "lumos/graph/test_program.h"
#include "lumos/sim/test_replay.h"
#include "lumos/trace/kineto/test_files.h"
#include "lumos/trace/table/table_rows.h"

namespace lumos {
namespace {

const std::string kDlrm = data_path("traces/dlrm-8rank-v100/rank1.json.gz");
const std::string kRecsys = data_path("traces/recsys-a100/rank3.json.gz");
const std::string kAllReduce = data_path("traces/allreduce-ddp-v100/rank1.json.gz");
const std::string kP2pCopy = data_path("traces/streams/p2p-copy.json.gz");
const std::string kTiny = data_path("vcluster/tiny-2x2x2");
const std::string kGpt = data_path("vcluster/15b-2x2x4");

std::string rank_file(const std::string& set, int rank) {
  return set + "/rank" + std::to_string(rank) + ".pt.trace.json.gz";
}

// Three steps on one thread and two streams; GPU-bound or host-bound by the length of the kernels.
TestProgram training(int64_t kernel_ns, const TestMachine& machine = {}) {
  TestProgram p(machine);
  const uint32_t main = p.thread(), compute = p.stream(7), side = p.stream(20);
  for (int i = 0; i < 3; ++i) {
    p.open(main, "ProfilerStep#" + std::to_string(i), EventKind::kAnnotation);
    for (int layer = 0; layer < 10; ++layer) {
      p.open(main, "aten::mm");
      p.launch(main, compute, "gemm", kernel_ns + 1000 * (layer % 4));
      p.close(main);
      p.wait(main, side, p.record(main, compute));
      p.launch(main, side, "copy", kernel_ns / 2);
      p.wait(main, compute, p.record(main, side));
    }
    p.blocking_copy(main, compute, 3000);
    p.synchronize_device(main);
    p.close(main);
  }
  return p;
}

TEST(StrictReplay, AProgramOfKnownConstantsReplaysExactly) {
  TestMachine machine;
  machine.launch_ns = 5123;  // no whole microseconds: a fine clock
  for (int64_t kernel_ns : {500, 8000, 60000}) {
    TestProgram p = training(kernel_ns, machine);
    const ExecGraph graph = build_graph(p.rows.finish(), {});
    EXPECT_EQ(graph.ranks[0].dropped_edges, 0u);
    const Timeline timeline = simulate(graph);
    for (uint32_t t = 0; t < graph.size(); ++t) {
      EXPECT_NEAR(static_cast<double>(timeline.start_ns[t]), static_cast<double>(graph.measured_start_ns[t]), 20)
          << "task " << t << ", kernels of " << kernel_ns;
    }
  }
}

// Honest zero (a).
TEST(StrictReplay, NeverReadsAMeasuredStart) {
  for (const std::string& path : {rank_file(kTiny, 0), kDlrm}) {
    SKIP_WITHOUT_DATA(path);
    ExecGraph graph = build_graph(read_table(path), {});
    const Timeline before = simulate(graph);
    std::mt19937_64 random(1);
    for (int64_t& start : graph.measured_start_ns) start = static_cast<int64_t>(random());
    const Timeline after = simulate(graph);
    EXPECT_EQ(before.start_ns, after.start_ns);
    EXPECT_EQ(before.end_ns, after.end_ns);
    EXPECT_EQ(before.binding, after.binding);
  }
}

// Time in which everything stands still, put in at the end of every synchronise call and blocking copy: as if each had
// waited `factor` times as long. Rows that begin later move; CPU rows that are open then grow, kernels do not.
EventTable with_longer_waits(const EventTable& table, int64_t factor, int* changed) {
  const HostProgram host = build_host_program(table);
  const GpuProgram gpu = build_gpu_program(table, host);
  std::vector<std::pair<int64_t, int64_t>> added;  // (from when on, total)
  for (const SyncCall& sync : find_sync_calls(table, host, gpu, clock_tolerance_ns(table), true)) {
    const uint32_t row = host.calls[sync.call].row;
    added.push_back({table.end_ns(row), (factor - 1) * table.dur_ns[row]});
  }
  *changed = static_cast<int>(added.size());
  std::sort(added.begin(), added.end());
  for (size_t i = 1; i < added.size(); ++i) added[i].second += added[i - 1].second;
  const auto moved = [&](int64_t time) {
    const auto it = std::upper_bound(added.begin(), added.end(), std::pair(time, INT64_MAX));
    return it == added.begin() ? time : time + std::prev(it)->second;
  };
  EventTable out = table;
  for (uint32_t row = 0; row < table.size(); ++row) {
    out.ts_ns[row] = moved(table.ts_ns[row]);
    if (!is_gpu_work(table.kind[row])) out.dur_ns[row] = moved(table.end_ns(row)) - out.ts_ns[row];
  }
  return out;
}

// Honest zero (b). The edges are found anew in the changed trace; only the constants are those of the first build.
void expect_waits_are_no_time(std::shared_ptr<const EventTable> table, double tolerance) {
  const ExecGraph first = build_graph(table, {});
  int changed = 0;
  auto longer = std::make_shared<const EventTable>(with_longer_waits(*table, 3, &changed));
  EXPECT_GT(changed, 0);
  BuildOptions options;
  options.constants = &first.ranks[0].constants;
  const std::vector<int64_t> before = step_lengths_ns(first), after = step_lengths_ns(build_graph(longer, options));
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(after[i]), static_cast<double>(before[i]),
                tolerance * static_cast<double>(before[i]))
        << first.ranks[0].steps[i].name;
  }
}

TEST(StrictReplay, HostWaitsAreDependenciesNotTime) {
  TestProgram p = training(20000);
  expect_waits_are_no_time(p.rows.finish(), 0);
}

TEST(StrictReplay, HostWaitsOfAnEmulatedRankAreNotTime) {
  for (int rank : {0, 5}) {
    SKIP_WITHOUT_DATA(rank_file(kTiny, rank));
    expect_waits_are_no_time(read_table(rank_file(kTiny, rank)), 0);
  }
}

TEST(StrictReplay, HostWaitsOfRealTracesAreNotTime) {
  for (const std::string& path : {kDlrm, kAllReduce}) {
    SKIP_WITHOUT_DATA(path);
    expect_waits_are_no_time(read_table(path), 0.001);
  }
}

// Honest zero (c): whatever one step teaches holds for the others.
TEST(StrictReplay, ConstantsOfOneStepReplayTheOthers) {
  for (const std::string& path : {kRecsys, kAllReduce}) {
    SKIP_WITHOUT_DATA(path);
    const auto table = read_table(path);
    const ExecGraph whole = build_graph(table, {});
    const std::vector<Step>& steps = whole.ranks[0].steps;
    ASSERT_GE(steps.size(), 3u);
    const auto start_ns = [&](uint32_t task) { return whole.measured_start_ns[task]; };
    const EventTable one = rows_within(*table, start_ns(steps[1].first_task), start_ns(steps[1].next_task));
    const ExecGraph taught = build_graph(std::make_shared<const EventTable>(one), {});
    BuildOptions options;
    options.constants = &taught.ranks[0].constants;
    const std::vector<int64_t> replayed = step_lengths_ns(build_graph(table, options));
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      if (i == 1 || !steps[i].chosen) continue;
      int64_t measured_end = start_ns(steps[i].next_task);
      for (uint32_t task : steps[i].last_gpu_tasks) {
        measured_end = std::max(measured_end, start_ns(task) + whole.duration_ns[task]);
      }
      const auto measured = static_cast<double>(measured_end - start_ns(steps[i].first_task));
      EXPECT_NEAR(static_cast<double>(replayed[i]), measured, 0.01 * measured) << path << " " << steps[i].name;
    }
  }
}

template <class Which>
double response(ExecGraph graph, double factor, Which which) {
  const double before = chosen_step_ns(graph);
  for (uint32_t t = 0; t < graph.size(); ++t) {
    if (!which(graph, t)) continue;
    graph.duration_ns[t] = static_cast<int64_t>(factor * static_cast<double>(graph.duration_ns[t]));
  }
  return chosen_step_ns(graph) / before;
}

bool on_gpu(const ExecGraph& graph, uint32_t task) { return is_gpu_task(graph.kind[task]); }
bool compute(const ExecGraph& graph, uint32_t task) {
  return on_gpu(graph, task) && graph.kind[task] != TaskKind::kTransfer;
}
bool on_host(const ExecGraph& graph, uint32_t task) {
  return graph.kind[task] == TaskKind::kHost || graph.kind[task] == TaskKind::kCall;
}

// Honest zero (d).
TEST(StrictReplay, FasterKernelsShortenAStepThatTheGpuBinds) {
  TestProgram bound_by_gpu = training(60000);
  EXPECT_NEAR(response(build_graph(bound_by_gpu.rows.finish(), {}), 0.5, on_gpu), 0.5, 0.04);
  SKIP_WITHOUT_DATA(kP2pCopy);
  EXPECT_NEAR(response(build_graph(read_table(kP2pCopy), {}), 0.5, on_gpu), 0.5, 0.03);
}

TEST(StrictReplay, FasterKernelsDoNotShortenAStepThatTheHostBinds) {
  TestProgram bound_by_host = training(500);
  EXPECT_NEAR(response(build_graph(bound_by_host.rows.finish(), {}), 0.5, on_gpu), 1, 0.02);
  SKIP_WITHOUT_DATA(kAllReduce);
  EXPECT_NEAR(response(build_graph(read_table(kAllReduce), {}), 0.5, on_gpu), 1, 0.001);
}

// A step made of GPU work must shrink by what the kernels on its critical path give, no more.
TEST(StrictReplay, TheStepShrinksByWhatTheCriticalPathGives) {
  const std::string path = data_path("traces/sglang-deepseek-r1-decode/mi300x.json.gz");
  SKIP_WITHOUT_DATA(path);
  const ExecGraph graph = build_graph(read_table(path), {});
  const Timeline timeline = simulate(graph);
  uint32_t task = 0;
  for (uint32_t t = 0; t < graph.size(); ++t) {
    if (timeline.end_ns[t] > timeline.end_ns[task]) task = t;
  }
  const int64_t end = timeline.end_ns[task];
  int64_t gpu_ns = 0;
  while (true) {
    const uint32_t binding = timeline.binding[task];
    if (on_gpu(graph, task) && (binding == kNoIndex || !graph.edges[binding].from_start)) {
      gpu_ns += graph.duration_ns[task];
    }
    if (binding == kNoIndex) break;
    task = graph.edges[binding].source;
  }
  ASSERT_GT(gpu_ns, end / 2);
  const double possible = 1 - 0.5 * static_cast<double>(gpu_ns) / static_cast<double>(end);
  const double got = response(graph, 0.5, on_gpu);
  EXPECT_GE(got, possible - 0.02);
  EXPECT_LE(got, possible + 0.1);
}

double true_step_ms(const std::string& set, const std::string& what) {
  const Result<Value> actual = parse_json(file_bytes(set + "/actual.json"), set);
  const ValueView view(*actual, set);
  return *view.at(what).at("step_ms").as_double();
}

// One rank alone keeps the durations of its collectives, waiting for others included: it can tell which way the step
// goes and which of two changes matters.
void expect_true_responses(const std::string& set, int rank) {
  const ExecGraph graph = build_graph(read_table(rank_file(set, rank)), {});
  const double base = true_step_ms(set, "base");
  const double true_compute = true_step_ms(set, "compute x0.5") / base, true_host = true_step_ms(set, "host x2") / base;
  const double compute_half = response(graph, 0.5, compute), host_double = response(graph, 2, on_host);
  SCOPED_TRACE(set + " rank " + std::to_string(rank));
  EXPECT_LE(compute_half, 1.0);
  EXPECT_GE(host_double, 1.0);
  EXPECT_EQ(1 - compute_half > host_double - 1, 1 - true_compute > true_host - 1)
      << compute_half << " and " << host_double << ", truly " << true_compute << " and " << true_host;
  // What hardly matters stays so, what matters is seen to.
  EXPECT_EQ(1 - compute_half > 0.1, 1 - true_compute > 0.1) << compute_half << ", truly " << true_compute;
  EXPECT_EQ(host_double - 1 > 0.1, true_host - 1 > 0.1) << host_double << ", truly " << true_host;
}

TEST(StrictReplay, AHostBoundRankRespondsToTheHost) {
  for (int rank = 0; rank < 8; ++rank) {
    SKIP_WITHOUT_DATA(rank_file(kTiny, rank));
    expect_true_responses(kTiny, rank);
  }
}

TEST(StrictReplay, AGpuBoundRankRespondsToItsKernels) {
  for (int rank : {0, 5, 11}) {
    SKIP_WITHOUT_DATA(rank_file(kGpt, rank));
    expect_true_responses(kGpt, rank);
  }
}

}  // namespace
}  // namespace lumos

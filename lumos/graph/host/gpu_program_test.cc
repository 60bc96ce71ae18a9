#include "lumos/graph/host/gpu_program.h"

#include <gtest/gtest.h>

#include "lumos/graph/test_table.h"

namespace lumos {
namespace {

uint32_t launcher_of(const TestPrograms& p, uint32_t work_row) {
  const uint32_t call = p.gpu.work[p.work_of(work_row)].call;
  return call == kNoIndex ? kNoIndex : p.host.calls[call].row;
}

TEST(GpuProgram, WorkIsLinkedByCorrelationAndOrderedByStart) {
  TestTable t;
  const uint32_t thread = t.thread(), s7 = t.stream(7), s20 = t.stream(20);
  const auto second = t.launch(thread, 5000, s7, "second", 20000, 100);
  const auto first = t.launch(thread, 1000, s7, "first", 8000, 100);
  const auto comm = t.launch(thread, 7000, s20, kNcclKernel, 9000, 100);
  const TestPrograms p(t);
  ASSERT_EQ(p.gpu.streams(), 2u);
  EXPECT_LT(p.work_of(first.work), p.work_of(second.work));
  EXPECT_EQ(launcher_of(p, first.work), first.call);
  EXPECT_EQ(launcher_of(p, second.work), second.call);
  EXPECT_TRUE(p.gpu.work[p.work_of(comm.work)].communication);
  EXPECT_FALSE(p.gpu.work[p.work_of(first.work)].communication);
}

TEST(GpuProgram, ARepeatedCorrelationMeansTheLastCallBeforeTheWork) {
  TestTable t;  // two merged runs, ids restarted
  const uint32_t thread = t.thread(), stream = t.stream(7);
  const uint32_t early = t.row(EventKind::kRuntime, "cudaLaunchKernel", thread, 1000, 500, 5);
  const uint32_t late = t.row(EventKind::kRuntime, "cudaLaunchKernel", thread, 50000, 500, 5);
  const uint32_t a = t.row(EventKind::kKernel, "k", stream, 8000, 100, 5);
  const uint32_t b = t.row(EventKind::kKernel, "k", stream, 58000, 100, 5);
  const TestPrograms p(t);
  EXPECT_EQ(launcher_of(p, a), early);
  EXPECT_EQ(launcher_of(p, b), late);
}

// Two ranks of one program merged into one file: the same ids, each with a process and a device of its own. However far
// one lags behind the other and however long the queues are, a kernel belongs to its own rank's call.
TEST(GpuProgram, RanksInOneFileKeepTheirLaunches) {
  for (int64_t lag : {0, 300, 2000, 9000, 40'000, 500'000}) {
    for (int64_t kernel_ns : {500, 3000}) {
      TestTable t;
      std::vector<std::pair<uint32_t, uint32_t>> launched;  // rows of call and kernel
      for (int64_t rank : {0, 1}) {
        const uint32_t thread = t.thread(100 + rank, 100 + rank), stream = t.stream(7, rank);
        int64_t now = rank * lag, free = 0;
        for (int64_t id = 1; id <= 60; ++id, now += 1000) {
          const uint32_t call = t.row(EventKind::kRuntime, "cudaLaunchKernel", thread, now, 400, id);
          free = std::max(free, now + 700) + kernel_ns;
          launched.emplace_back(call, t.row(EventKind::kKernel, "k", stream, free - kernel_ns, kernel_ns, id));
        }
      }
      const TestPrograms p(t);
      for (const auto& [call, kernel] : launched) {
        ASSERT_EQ(launcher_of(p, kernel), call) << "lag " << lag << " kernel " << kernel_ns;
      }
      for (const GpuWork& w : p.gpu.work) ASSERT_FALSE(w.in_graph);
    }
  }
}

// One rank drives two devices, another one a third: ids are shared between ranks, not between devices of one.
TEST(GpuProgram, ARankMayHaveSeveralDevices) {
  TestTable t;
  std::vector<std::pair<uint32_t, uint32_t>> launched;
  const uint32_t first = t.thread(100, 100), second = t.thread(101, 101);
  const uint32_t streams[] = {t.stream(7, 0), t.stream(7, 1), t.stream(7, 2)};
  for (int64_t id = 1; id <= 40; ++id) {
    const uint32_t a = t.row(EventKind::kRuntime, "cudaLaunchKernel", first, 1000 * id, 100, id);
    launched.emplace_back(a, t.row(EventKind::kKernel, "k", streams[id % 2], 1000 * id + 300, 300, id));
    const uint32_t b = t.row(EventKind::kRuntime, "cudaLaunchKernel", second, 1000 * id + 4000, 100, id);
    launched.emplace_back(b, t.row(EventKind::kKernel, "k", streams[2], 1000 * id + 4300, 300, id));
  }
  const TestPrograms p(t);
  for (const auto& [call, kernel] : launched) EXPECT_EQ(launcher_of(p, kernel), call);
}

TEST(GpuProgram, OneGraphLaunchOwnsAllItsWork) {
  TestTable t;
  const uint32_t thread = t.thread(), s7 = t.stream(7), s8 = t.stream(8);
  const uint32_t launch = t.call(thread, "cudaGraphLaunch", 1000, 500);
  const uint32_t late = t.work(launch, s7, "late", 9000, 100);
  const uint32_t other = t.work(launch, s8, "other", 8000, 100);
  const uint32_t early = t.work(launch, s7, "early", 7000, 100);
  const TestPrograms p(t);
  const uint32_t call = p.call_of(launch);
  ASSERT_EQ(p.gpu.by_call_begin[call + 1] - p.gpu.by_call_begin[call], 3u);
  EXPECT_EQ(p.gpu.by_call[p.gpu.by_call_begin[call]], p.work_of(early));
  EXPECT_EQ(p.gpu.by_call[p.gpu.by_call_begin[call] + 1], p.work_of(other));
  EXPECT_EQ(p.gpu.by_call[p.gpu.by_call_begin[call] + 2], p.work_of(late));
  for (const GpuWork& w : p.gpu.work) EXPECT_TRUE(w.in_graph);
}

TEST(GpuProgram, WorkWithoutALauncherHasNone) {
  TestTable t;
  const uint32_t thread = t.thread(), stream = t.stream(7);
  t.op(thread, "op", 0, 10);
  const uint32_t orphan = t.row(EventKind::kKernel, "k", stream, 100, 10, 77);
  const uint32_t unknown = t.row(EventKind::kKernel, "k", stream, 200, 10, 0);
  const TestPrograms p(t);
  EXPECT_EQ(launcher_of(p, orphan), kNoIndex);
  EXPECT_EQ(launcher_of(p, unknown), kNoIndex);
}

TEST(GpuProgram, WithoutCorrelationsExternalIdsAndOrderTell) {
  TestTable t;
  const uint32_t thread = t.thread(), stream = t.stream(7);
  const uint32_t c0 = t.row(EventKind::kRuntime, "hipLaunchKernel", thread, 1000, 100, 0);
  const uint32_t c1 = t.row(EventKind::kRuntime, "hipLaunchKernel", thread, 2000, 100, 0);
  const uint32_t c2 = t.row(EventKind::kRuntime, "hipLaunchKernel", thread, 3000, 100, 0);
  const uint32_t k0 = t.row(EventKind::kKernel, "k", stream, 11000, 100, 0);
  const uint32_t k1 = t.row(EventKind::kKernel, "k", stream, 12000, 100, 0);
  const uint32_t k2 = t.row(EventKind::kKernel, "k", stream, 13000, 100, 0);
  for (uint32_t row : {c0, c1, k0, k1}) t.table().external_id[row] = 4;
  for (uint32_t row : {c2, k2}) t.table().external_id[row] = 9;
  const TestPrograms p(t);
  EXPECT_EQ(launcher_of(p, k0), c0);
  EXPECT_EQ(launcher_of(p, k1), c1);
  EXPECT_EQ(launcher_of(p, k2), c2);
}

TEST(GpuProgram, ExternalIdsThatDoNotMatchInNumberAreNotBelieved) {
  TestTable t;
  const uint32_t thread = t.thread(), stream = t.stream(7);
  const uint32_t call = t.row(EventKind::kRuntime, "hipLaunchKernel", thread, 1000, 100, 0);
  const uint32_t k0 = t.row(EventKind::kKernel, "k", stream, 11000, 100, 0);
  const uint32_t k1 = t.row(EventKind::kKernel, "k", stream, 12000, 100, 0);
  for (uint32_t row : {call, k0, k1}) t.table().external_id[row] = 4;
  const TestPrograms p(t);
  EXPECT_EQ(launcher_of(p, k0), kNoIndex);
  EXPECT_EQ(launcher_of(p, k1), kNoIndex);
}

TEST(GpuProgram, LaunchOrderNeverRunsBackOnAStream) {
  TestTable t;
  const uint32_t a = t.thread(1), b = t.thread(2), stream = t.stream(7);
  const uint32_t orphan = t.row(EventKind::kKernel, "k", stream, 500, 10);
  const auto late = t.launch(a, 9000, stream, "k", 10000, 10);
  const auto early = t.launch(b, 8000, stream, "k", 11000, 10);  // enqueued after the other thread's
  const TestPrograms p(t);
  const std::vector<int64_t> order = launch_order_ns(*p.table, p.host, p.gpu);
  EXPECT_EQ(order[p.work_of(orphan)], INT64_MIN);
  EXPECT_EQ(order[p.work_of(late.work)], 9000);
  EXPECT_EQ(order[p.work_of(early.work)], 9000);
}

TEST(GpuProgram, NothingGivesNothing) {
  TestTable t;
  const TestPrograms p(t);
  EXPECT_TRUE(p.gpu.work.empty());
  EXPECT_EQ(p.gpu.streams(), 0u);
}

}  // namespace
}  // namespace lumos

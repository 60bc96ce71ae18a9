#include <gtest/gtest.h>

#include <algorithm>

#include "lumos/graph/host/host_waits.h"
#include "lumos/graph/test_program.h"

namespace lumos {
namespace {

constexpr int64_t kToleranceNs = 1000;

struct Found {
  std::vector<SyncCall> calls;
  std::vector<std::vector<uint32_t>> targets;  // rows, by call
};

Found find(TestProgram& program, bool use_sync_rows = true) {
  const TestPrograms p(program.rows);
  Found found;
  found.calls = find_sync_calls(*p.table, p.host, p.gpu, kToleranceNs, use_sync_rows);
  for (const SyncCall& sync : found.calls) {
    found.targets.emplace_back();
    for (uint32_t w : sync.targets) found.targets.back().push_back(p.gpu.work[w].row);
    std::sort(found.targets.back().begin(), found.targets.back().end());
  }
  return found;
}

using Rows = std::vector<uint32_t>;

struct TwoStreams : TestProgram {
  explicit TwoStreams(const TestMachine& machine = {}) : TestProgram(machine) {}
  uint32_t main = thread();
  uint32_t a = stream(7);
  uint32_t b = stream(20);
};

TEST(SyncCalls, ADeviceSynchroniseWaitsForEveryStream) {
  TwoStreams p;
  p.launch(p.main, p.a, "early", 1000);
  const uint32_t last_a = p.launch(p.main, p.a, "k", 50000);
  const uint32_t last_b = p.launch(p.main, p.b, "k", 90000);
  p.synchronize_device(p.main);
  p.launch(p.main, p.a, "after", 1000);
  const Found found = find(p);
  ASSERT_EQ(found.calls.size(), 1u);
  EXPECT_EQ(found.targets[0], (Rows{last_a, last_b}));
  EXPECT_TRUE(found.calls[0].waited);
  EXPECT_TRUE(found.calls[0].recorded);
}

TEST(SyncCalls, ACallWithNothingRunningHasNotWaited) {
  TwoStreams p;
  p.launch(p.main, p.a, "k", 1000);
  p.compute(p.main, 50000);
  p.synchronize_device(p.main);
  const Found found = find(p);
  ASSERT_EQ(found.calls.size(), 1u);
  EXPECT_FALSE(found.calls[0].waited);
  EXPECT_EQ(found.targets[0].size(), 1u);
}

TEST(SyncCalls, AStreamSynchroniseMeansTheStreamWhoseWorkEndedWithIt) {
  TwoStreams p;
  p.launch(p.main, p.b, "long", 500000);
  const uint32_t meant = p.launch(p.main, p.a, "k", 90000);
  p.synchronize_stream(p.main, p.a);
  const Found found = find(p);
  ASSERT_EQ(found.calls.size(), 1u);
  EXPECT_EQ(found.targets[0], Rows{meant});
  EXPECT_TRUE(found.calls[0].waited);
  EXPECT_FALSE(found.calls[0].recorded);
}

TEST(SyncCalls, AStreamSynchroniseOfAnotherStreamThanLaunchedLast) {
  TwoStreams p;
  const uint32_t meant = p.launch(p.main, p.a, "k", 90000);
  p.launch(p.main, p.b, "long", 500000);
  p.synchronize_stream(p.main, p.a);
  const Found found = find(p);
  ASSERT_EQ(found.calls.size(), 1u);
  EXPECT_EQ(found.targets[0], Rows{meant});
}

TEST(SyncCalls, TheRowOfAStreamSynchroniseNamesTheStream) {
  TestMachine machine;
  machine.sync_rows = true;
  TwoStreams p(machine);
  const uint32_t meant = p.launch(p.main, p.a, "k", 50000);
  p.launch(p.main, p.b, "k", 51000);  // ends later, within the clock's rounding of the return
  p.synchronize_stream(p.main, p.a);
  const Found found = find(p);
  ASSERT_EQ(found.calls.size(), 1u);
  EXPECT_EQ(found.targets[0], Rows{meant});
  EXPECT_TRUE(found.calls[0].recorded);
}

TEST(SyncCalls, AnEventSynchroniseMeansWhatEndedWithIt) {
  for (bool rows : {false, true}) {
    TestMachine machine;
    machine.sync_rows = rows;
    TwoStreams p(machine);
    const uint32_t meant = p.launch(p.main, p.a, "k", 60000);
    const auto event = p.record(p.main, p.a);
    p.launch(p.main, p.a, "later", 400000);
    p.synchronize_event(p.main, event);
    const Found found = find(p);
    ASSERT_EQ(found.calls.size(), 1u);
    EXPECT_EQ(found.targets[0], Rows{meant}) << "rows " << rows;
    EXPECT_EQ(found.calls[0].recorded, rows);
  }
}

TEST(SyncCalls, ACopyThatEndsBeforeItsCallReturnsBlocks) {
  TwoStreams p;
  p.launch(p.main, p.a, "k", 30000);
  const uint32_t copy = p.blocking_copy(p.main, p.a, 20000);
  const Found found = find(p);
  ASSERT_EQ(found.calls.size(), 1u);
  EXPECT_EQ(found.targets[0], Rows{copy});
  EXPECT_TRUE(found.calls[0].waited);
}

TEST(SyncCalls, ACopyThatOutlivesItsCallDoesNotBlock) {
  TestTable t;
  const uint32_t thread = t.thread(), stream = t.stream(7);
  const uint32_t call = t.call(thread, "cudaMemcpyAsync", 0, 4000);
  t.work(call, stream, "Memcpy HtoD (Pinned -> Device)", 6000, 20000, EventKind::kMemcpy);
  const TestPrograms p(t);
  EXPECT_TRUE(find_sync_calls(*p.table, p.host, p.gpu, kToleranceNs, true).empty());
}

TEST(SyncCalls, AFreeBlocksOnlyWhenItEndsWithTheDevice) {
  TwoStreams p;
  const uint32_t running = p.launch(p.main, p.a, "k", 90000);
  p.blocking_call(p.main, "cudaFree", p.stream_end(p.a));
  p.launch(p.main, p.a, "k", 90000);
  p.call(p.main, "cudaFree");  // returns while the kernel still runs
  p.compute(p.main, 200000);
  p.call(p.main, "cudaFree");  // nothing runs
  const Found found = find(p);
  ASSERT_EQ(found.calls.size(), 1u);
  EXPECT_EQ(found.targets[0], Rows{running});
  EXPECT_TRUE(found.calls[0].waited);
}

// A process with several devices, whose streams have the same numbers.
struct TwoDevices : TestProgram {
  explicit TwoDevices(const TestMachine& machine = {}) : TestProgram(machine) {}
  uint32_t main = thread();
  uint32_t first = stream(7, 0);
  uint32_t second = stream(7, 1);
};

TEST(SyncCalls, RowsNameTheStreamOfTheirOwnDevice) {
  for (bool of_second : {false, true}) {
    TestMachine machine;
    machine.sync_rows = true;
    TwoDevices p(machine);
    const uint32_t on_first = p.launch(p.main, p.first, "k", of_second ? 51'000 : 50'000);
    const uint32_t on_second = p.launch(p.main, p.second, "k", of_second ? 46'000 : 50'000);
    p.synchronize_stream(p.main, of_second ? p.second : p.first);
    const Found found = find(p);
    ASSERT_EQ(found.calls.size(), 1u);
    EXPECT_EQ(found.targets[0], Rows{of_second ? on_second : on_first}) << of_second;
  }
}

TEST(SyncCalls, ADeviceSynchroniseWaitsForItsOwnDevice) {
  for (bool launch_other_last : {false, true}) {
    TwoDevices p;
    const uint32_t other = launch_other_last ? 0 : p.launch(p.main, p.second, "short", 40'000);
    const uint32_t meant = p.launch(p.main, p.first, "k", 90'000);
    if (launch_other_last) p.launch(p.main, p.second, "long", 900'000);
    p.blocking_call(p.main, "cudaDeviceSynchronize", p.stream_end(p.first));
    const Found found = find(p);
    ASSERT_EQ(found.calls.size(), 1u);
    EXPECT_EQ(found.targets[0], Rows{meant}) << other;
    EXPECT_TRUE(found.calls[0].waited);
  }
}

TEST(SyncCalls, AFreeThatEndsWithItsDeviceBlocksWhateverAnotherOneDoes) {
  TwoDevices p;
  p.launch(p.main, p.second, "long", 900'000);
  const uint32_t meant = p.launch(p.main, p.first, "k", 90'000);
  p.blocking_call(p.main, "cudaFree", p.stream_end(p.first));
  const Found found = find(p);
  ASSERT_EQ(found.calls.size(), 1u);
  EXPECT_EQ(found.targets[0], Rows{meant});
}

// Whatever the vendor calls it, the wait of a synchronise is no work of the host.
TEST(SyncCalls, EveryVendorsSynchroniseWaits) {
  for (const char* name : {"aclrtSynchronizeStream", "aclrtSynchronizeDevice", "aclrtSynchronizeEvent", "urQueueFinish",
                           "urEventWait", "zeFenceHostSynchronize", "hipStreamSynchronize"}) {
    TwoStreams p;
    const uint32_t meant = p.launch(p.main, p.a, "k", 90'000);
    p.blocking_call(p.main, name, p.stream_end(p.a));
    const Found found = find(p);
    ASSERT_EQ(found.calls.size(), 1u) << name;
    EXPECT_EQ(found.targets[0], Rows{meant}) << name;
    EXPECT_TRUE(found.calls[0].waited) << name;
  }
}

TEST(SyncCalls, WithoutGpuWorkThereIsNothingToWaitFor) {
  TestProgram p;
  const uint32_t main = p.thread();
  p.synchronize_device(main);
  const Found found = find(p);
  ASSERT_EQ(found.calls.size(), 1u);
  EXPECT_TRUE(found.targets[0].empty());
  EXPECT_FALSE(found.calls[0].waited);
}

}  // namespace
}  // namespace lumos

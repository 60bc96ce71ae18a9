#include <gtest/gtest.h>

#include "lumos/graph/constants.h"
#include "lumos/graph/test_program.h"
#include "lumos/graph/test_programs.h"

namespace lumos {
namespace {

// Programs whose constants are known, because the machine was told them. Times are no whole microseconds, as on the
// clock of newer profilers.
TestMachine odd_machine() {
  TestMachine machine;
  machine.launch_ns = 6123;
  machine.dispatch_ns = 877;
  machine.event_ns = 1391;
  machine.return_ns = 3517;
  machine.call_ns = 2003;
  return machine;
}

ConstantTable constants_of(TestProgram& program) {
  const TestPrograms p(program.rows);
  return ConstantTable(calibrate(rank_programs(p)));
}

TEST(Calibrate, LaunchLatencyIsThatOfIdleStreams) {
  TestProgram p(odd_machine());
  const uint32_t main = p.thread(), stream = p.stream(7);
  for (int i = 0; i < 20; ++i) {
    p.launch(main, stream, "k", 3000);
    p.compute(main, 30000);
    p.launch(main, stream, "k", 90000);  // the next one finds the stream busy
    p.launch(main, stream, "k", 3000);
    p.compute(main, 150000);
  }
  const ConstantTable constants = constants_of(p);
  EXPECT_EQ(constants.value("launch:cudaLaunchKernel", 0), 6123);
  EXPECT_EQ(constants.value("launch", 0), 6123);
  EXPECT_EQ(constants.value("dispatch:stream 7", 0), 877);
}

TEST(Calibrate, EventLatencyIsThatOfWaitsThatBind) {
  TestProgram p(odd_machine());
  const uint32_t main = p.thread(), compute = p.stream(7), side = p.stream(20);
  for (int i = 0; i < 10; ++i) {
    p.launch(main, compute, "k", 80000);
    p.wait(main, side, p.record(main, compute));
    p.launch(main, side, "copy", 5000);
    p.compute(main, 200000);
  }
  EXPECT_EQ(constants_of(p).value("event", 0), 1391);
}

TEST(Calibrate, SynchroniseCallsReturnLateByTheirConstantAndCostTheirOwn) {
  TestProgram p(odd_machine());
  const uint32_t main = p.thread(), stream = p.stream(7);
  for (int i = 0; i < 10; ++i) {
    p.launch(main, stream, "k", 70000);
    p.synchronize_device(main);  // waits
    p.compute(main, 1000);
    p.synchronize_device(main);  // has nothing to wait for
  }
  const ConstantTable constants = constants_of(p);
  EXPECT_EQ(constants.value("return:cudaDeviceSynchronize", 0), 3517);
  EXPECT_EQ(constants.value("call:cudaDeviceSynchronize", 0), 2003);
}

TEST(Calibrate, BlockingCopiesReturnTheLaterTheLongerTheyAre) {
  TestTable t;
  const uint32_t main = t.thread(), stream = t.stream(7);
  int64_t at = 1;
  for (int i = 0; i < 12; ++i) {
    const int64_t copy = 10'000 + 7'000 * i, start = at + 6000;
    const int64_t returned = start + copy + 2000 + copy / 10;  // 2 us and 100 us per ms
    const uint32_t call = t.call(main, "cudaMemcpyAsync", at, returned - at);
    t.work(call, stream, "Memcpy DtoH (Device -> Pageable)", start, copy, EventKind::kMemcpy);
    at = returned + 5000;
  }
  const TestPrograms p(t);
  const ConstantTable constants{calibrate(rank_programs(p))};
  EXPECT_NEAR(static_cast<double>(constants.value("return:cudaMemcpyAsync", 0)), 2000, 5);
  EXPECT_NEAR(static_cast<double>(constants.value("return-per-ms:cudaMemcpyAsync", 0)), 100'000, 50);
}

TEST(Calibrate, NothingFitsNothing) {
  TestTable t;
  const TestPrograms p(t);
  EXPECT_TRUE(calibrate(rank_programs(p)).empty());
}

TEST(Calibrate, WholeMicrosecondsAreACoarserClock) {
  TestTable coarse, fine;
  coarse.op(coarse.thread(), "op", 5000, 1000);
  fine.op(fine.thread(), "op", 5001, 1000);
  EXPECT_GT(clock_tolerance_ns(*coarse.finish()), clock_tolerance_ns(*fine.finish()));
}

TEST(StreamPredecessors, AWorkFollowsTheOneThatHadEndedNearestToItsStart) {
  TestTable t;
  const uint32_t main = t.thread(), stream = t.stream(7);
  const uint32_t graph = t.call(main, "cudaGraphLaunch", 0, 1000);
  const uint32_t first = t.work(graph, stream, "first", 10'000, 10'000);
  const uint32_t branch_a = t.work(graph, stream, "a", 21'000, 50'000);
  const uint32_t branch_b = t.work(graph, stream, "b", 21'500, 20'000);  // beside a
  const uint32_t after_b = t.work(graph, stream, "after b", 42'500, 5'000);
  const TestPrograms p(t);
  const std::vector<uint32_t> before = find_stream_predecessors(p.gpu, 1000);
  EXPECT_EQ(before[p.work_of(first)], kNoIndex);
  EXPECT_EQ(before[p.work_of(branch_a)], p.work_of(first));
  EXPECT_EQ(before[p.work_of(branch_b)], p.work_of(first));
  EXPECT_EQ(before[p.work_of(after_b)], p.work_of(branch_b));
}

TEST(LateLaunches, ACallThatLoadsAModuleFirstLaunchesAtItsEnd) {
  TestTable t;
  const uint32_t main = t.thread(), stream = t.stream(7);
  for (int i = 0; i < 9; ++i) t.launch(main, 20'000 * i, stream, "k", 20'000 * i + 6000, 1000);
  const uint32_t lazy = t.call(main, "cudaLaunchKernel", 300'000, 100'000);
  t.work(lazy, stream, "loaded", 404'000, 1000);
  const uint32_t slow = t.call(main, "cudaLaunchKernel", 500'000, 100'000);
  t.work(slow, stream, "k", 506'000, 1000);  // launched before the call was held up
  const TestPrograms p(t);
  const RankPrograms programs = rank_programs(p);
  EXPECT_TRUE(programs.launches_late(p.call_of(lazy)));
  EXPECT_FALSE(programs.launches_late(p.call_of(slow)));
  EXPECT_FALSE(programs.launches_late(0));
}

}  // namespace
}  // namespace lumos

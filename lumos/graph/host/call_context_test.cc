#include "lumos/graph/host/call_context.h"

#include <gtest/gtest.h>

#include "lumos/graph/test_table.h"

namespace lumos {
namespace {

TEST(CallContext, LaunchesBeforeAndAfterOnTheSameThread) {
  TestTable t;
  const uint32_t main = t.thread(1), other = t.thread(2), s7 = t.stream(7), s20 = t.stream(20);
  const auto before = t.launch(main, 0, s7, "gemm", 10000, 100);
  const uint32_t record = t.call(main, "cudaEventRecord", 2000, 500);
  t.launch(other, 2600, s7, "elsewhere", 12000, 100);
  const uint32_t wait = t.call(main, "cudaStreamWaitEvent", 3000, 500);
  const auto comm = t.launch(main, 4000, s20, kNcclKernel, 20000, 100);
  const auto after = t.launch(main, 6000, s7, "gemm", 30000, 100);
  const TestPrograms p(t);
  const CallContexts contexts = find_call_contexts(*p.table, p.host, p.gpu);
  const CallContext& here = contexts.of_call[p.call_of(wait)];
  EXPECT_EQ(here.previous_launch, p.call_of(before.call));
  EXPECT_EQ(here.next_launch, p.call_of(comm.call));
  EXPECT_EQ(here.previous_event_call, p.call_of(record));
  EXPECT_EQ(here.previous_compute_launch, p.call_of(before.call));
  EXPECT_EQ(here.next_compute_launch, p.call_of(after.call));
  EXPECT_TRUE(contexts.launches_communication(p.call_of(comm.call)));
  EXPECT_FALSE(contexts.launches_communication(p.call_of(after.call)));
  EXPECT_FALSE(contexts.launches_communication(kNoIndex));
}

TEST(CallContext, TheOutermostCollectiveOperationIsTheScope) {
  TestTable t;
  const uint32_t main = t.thread(), s7 = t.stream(7), s20 = t.stream(20);
  t.op(main, "aten::linear", 0, 1000);
  const auto gemm = t.launch(main, 100, s7, "gemm", 5000, 100);
  const uint32_t outer = t.op(main, "c10d::allreduce_", 3000, 5000);
  t.op(main, "record_param_comms", 3500, 4000);
  const auto comm = t.launch(main, 4000, s20, kNcclKernel, 20000, 100);
  const TestPrograms p(t);
  const CallContexts contexts = find_call_contexts(*p.table, p.host, p.gpu);
  EXPECT_EQ(contexts.of_call[p.call_of(comm.call)].collective_scope, outer);
  EXPECT_EQ(contexts.of_call[p.call_of(gemm.call)].collective_scope, kNoIndex);
}

TEST(CallContext, AFewFillsDoNotMakeACommunicationStreamAnythingElse) {
  TestTable t;
  const uint32_t main = t.thread(), s7 = t.stream(7), s20 = t.stream(20), s21 = t.stream(21);
  for (int i = 0; i < 19; ++i) t.launch(main, 3000 * i, s20, kNcclKernel, 10000 + 3000 * i, 100);
  t.launch(main, 100000, s20, "fill", 110000, 100);
  for (int i = 0; i < 3; ++i) t.launch(main, 200000 + 3000 * i, s21, i ? kNcclKernel : "gemm", 300000 + 3000 * i, 100);
  t.launch(main, 400000, s7, "gemm", 410000, 100);
  const TestPrograms p(t);
  const CallContexts contexts = find_call_contexts(*p.table, p.host, p.gpu);
  std::vector<bool> expected(3);
  for (uint32_t s = 0; s < p.gpu.streams(); ++s) expected[s] = p.table->lanes[p.gpu.stream_lane[s]].tid == 20;
  EXPECT_EQ(contexts.communication_stream, expected);
}

}  // namespace
}  // namespace lumos

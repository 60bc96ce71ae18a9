#include "lumos/trace/words/lexicon.h"

#include <gtest/gtest.h>

#include "lumos/trace/kineto/reader.h"
#include "lumos/trace/table/row_meaning.h"

namespace lumos {
namespace {

TEST(Lexicon, WhatTheReaderLookedUpIsWhatANewLookUpSays) {
  auto table = read_trace_bytes(R"json([
    {"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 1, "tid": 1, "ts": 1, "dur": 9},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 1,
     "args": {"correlation": 5}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0, "tid": 7, "ts": 4,
     "dur": 3, "args": {"correlation": 5, "stream": 7, "Collective name": "allreduce", "dtype": "Float"}}])json",
                                "test", {});
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_NE(table->lexicon, nullptr);
  EventTable without = *table;
  without.lexicon = nullptr;
  for (const EventTable* each : {&*table, &without}) {
    EXPECT_TRUE(each->operator_meaning(0).is(OperatorTrait::kEnqueues));
    EXPECT_EQ(each->call_kind(1), CallKind::kLaunch);
    EXPECT_EQ(each->kernel_meaning(2).collective, CollectiveKind::kAllReduce);
    EXPECT_EQ(hint_of(*each, each->collectives.front()).kind, CollectiveKind::kAllReduce);
    EXPECT_EQ(type_of(*each, each->collectives.front()), ElementType::kFloat32);
  }
}

// Copies of a table get other names: what was looked up for the old ones must not count for them.
TEST(Lexicon, CountsForItsOwnNamesAlone) {
  auto names = std::make_shared<NamePool>();
  const NameId kernel = names->intern("ncclDevKernel_AllReduce");
  Lexicon lexicon(names);
  lexicon.add_kernel(kernel);
  EXPECT_TRUE(lexicon.kernel(*names, kernel).communicates);
  NamePool others;
  others.intern("elementwise_kernel");
  EXPECT_FALSE(lexicon.kernel(others, kernel).communicates);
  const NameId late = names->intern("ncclDevKernel_Broadcast");
  EXPECT_TRUE(lexicon.kernel(*names, late).communicates);
}

}  // namespace
}  // namespace lumos

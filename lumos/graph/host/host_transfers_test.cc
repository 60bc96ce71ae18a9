#include "lumos/graph/host/host_transfers.h"

#include <gtest/gtest.h>

#include "lumos/graph/test_gloo.h"

namespace lumos {
namespace {

TEST(HostTransfers, FindsWhoEnqueuedAndWhoWaited) {
  const auto table = gloo_rank(0, 3, 4000, 9000);
  const HostProgram host = build_host_program(*table);
  const HostTransfers found = find_host_transfers(*table, host);
  ASSERT_EQ(found.transfers.size(), 3u);
  ASSERT_EQ(found.waits.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(table->name_of(found.transfers[i].enqueue_row), "c10d::allreduce_");
    EXPECT_TRUE(found.transfers[i].thread_was_idle);
    EXPECT_EQ(found.waits[i].transfers, std::vector<uint32_t>{static_cast<uint32_t>(i)});
    EXPECT_EQ(found.waits[i].latency_ns, 10 * kUs);
  }
}

TEST(HostTransfers, ThreadsThatDoMoreAreNotTheirs) {
  TestTable t;
  const uint32_t main = t.thread(1);
  t.op(main, "aten::mm", 0, 1000);
  t.row(EventKind::kAnnotation, "gloo:all_reduce", main, 2000, 1000);
  const auto table = t.finish();
  EXPECT_TRUE(find_host_transfers(*table, build_host_program(*table)).transfers.empty());
}

TEST(HostTransfers, BytesOfTensors) {
  EXPECT_EQ(input_bytes("[[263808]]", R"(["float"])"), 4 * 263808);
  EXPECT_EQ(input_bytes("[[2,3],[],[4]]", R"(["c10::BFloat16","Scalar","double"])"), 12 + 32);
  EXPECT_EQ(input_bytes("[[2]]", R"(["unheard of"])"), -1);
  EXPECT_EQ(input_bytes("[]", "[]"), -1);
  EXPECT_EQ(input_bytes("", ""), -1);
}

}  // namespace
}  // namespace lumos

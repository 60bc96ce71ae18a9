#include "lumos/report/results/inventory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumos/report/results/advice.h"
#include "lumos/trace/write/test_demo_table.h"

namespace lumos {
namespace {

bool advises_on(const RankInventory& rank, std::string_view word) {
  const std::vector<Advice> advice = advice_for(rank);
  return std::any_of(advice.begin(), advice.end(),
                     [&](const Advice& each) { return each.finding.find(word) != std::string::npos; });
}

TEST(Inventory, CountsWhatTheDemoTraceWasMadeOf) {
  const auto table = demo_table();
  const RankInventory rank = take_inventory(*table);
  ASSERT_EQ(rank.steps.size(), 3u);
  EXPECT_EQ(rank.steps[0].name, "ProfilerStep#3");
  EXPECT_EQ(rank.threads.size(), 2u);
  ASSERT_EQ(rank.streams.size(), 2u);
  EXPECT_EQ(rank.streams[1].collectives, 9u);
  ASSERT_EQ(rank.collectives.size(), 1u);
  EXPECT_EQ(rank.collectives[0].kind, "allreduce");
  EXPECT_EQ(rank.collectives[0].group, "default_pg (0)");
  EXPECT_EQ(rank.collectives[0].bytes, 9 * int64_t{2 * 2 * 4096 * 4096});
  EXPECT_EQ(rank.coverage.gpu_rows, rank.coverage.gpu_rows_with_launch);
  EXPECT_EQ(rank.coverage.forward_backward_flows, 57u);
}

TEST(Inventory, NestedEventsAreBusyOnce) {
  const auto table = demo_table();
  const RankInventory rank = take_inventory(*table);
  for (const ThreadUse& thread : rank.threads) EXPECT_LE(thread.busy_ns, rank.span_ns);
}

TEST(Inventory, AdviceGoesAwayWithWhatItAsksFor) {
  const auto without = demo_table();
  const auto with = demo_table({3, true});
  EXPECT_TRUE(advises_on(take_inventory(*without), "stream waits"));
  EXPECT_FALSE(advises_on(take_inventory(*with), "stream waits"));
  const auto one_step = demo_table({1, true});
  EXPECT_TRUE(advises_on(take_inventory(*one_step), "only one step"));
  EXPECT_FALSE(advises_on(take_inventory(*with), "only one step"));
}

TEST(Inventory, AnEmptyTableIsAnAnswerToo) {
  EventTable table;
  table.names = std::make_shared<NamePool>();
  const RankInventory rank = take_inventory(table);
  EXPECT_EQ(rank.span_ns, 0);
  EXPECT_TRUE(advises_on(rank, "no events"));
}

}  // namespace
}  // namespace lumos

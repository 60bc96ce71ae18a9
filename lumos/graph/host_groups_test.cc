#include "lumos/graph/host_groups.h"

#include <gtest/gtest.h>

#include "lumos/graph/job.h"
#include "lumos/graph/test_gloo.h"

namespace lumos {
namespace {

constexpr int kSteps = 6;

/// Four ranks in two rows and two columns, each with threads for its row's and its column's group; the group of all
/// runs nothing. How long a step's operations take depends on who takes part, by `chance`.
std::vector<std::shared_ptr<const EventTable>> square(const std::vector<int64_t>& chance_us, int threads_per_group) {
  std::vector<std::shared_ptr<const EventTable>> tables;
  for (int rank = 0; rank < 4; ++rank) {
    TestTable t;
    const uint32_t main = t.thread(1);
    std::vector<uint32_t> row_threads, column_threads;
    for (int i = 0; i < threads_per_group; ++i) row_threads.push_back(t.thread(110 + rank + i));
    for (int i = 0; i < threads_per_group; ++i) column_threads.push_back(t.thread(150 + rank + i));
    for (int step = 0; step < kSteps; ++step) {
      const int64_t begin = step * 20'000 * kUs;
      t.step(main, step, begin, 20'000 * kUs);
      const auto reduce = [&](const std::vector<uint32_t>& threads, int64_t at_us, int who) {
        const size_t which = static_cast<size_t>(step * 4 + who) % chance_us.size();
        t.op(main, "c10d::allreduce_", begin + at_us * kUs, 40 * kUs);
        t.row(EventKind::kAnnotation, "gloo:all_reduce", threads[static_cast<size_t>(step) % threads.size()],
              begin + (at_us + 50) * kUs, (1000 + chance_us[which]) * kUs);
      };
      reduce(row_threads, 1000, rank / 2);
      reduce(column_threads, 9000, 2 + rank % 2);
    }
    t.table().info.rank = rank;
    t.table().info.world_size = 4;
    const int row = rank / 2 * 2, column = rank % 2;
    t.table().info.groups = {{"0", "default_pg", 4, {0, 1, 2, 3}},
                             {row == 0 ? "1" : "2", "", 2, {row, row + 1}},
                             {column == 0 ? "3" : "4", "", 2, {column, column + 2}}};
    tables.push_back(t.finish());
  }
  return tables;
}

std::vector<const EventTable*> plain(const std::vector<std::shared_ptr<const EventTable>>& tables) {
  std::vector<const EventTable*> out;
  for (const auto& table : tables) out.push_back(table.get());
  return out;
}

const std::vector<int64_t> kChance = {3000, 120, 900, 2200, 40, 1700, 2900, 600, 1300, 2500, 310};

TEST(HostGroups, ThreadsBelongToTheGroupWhoseOtherMembersEndWithThem) {
  for (const int threads : {1, 2}) {
    const auto tables = square(kChance, threads);
    const LaneGroups found = groups_of_host_lanes(plain(tables));
    ASSERT_EQ(found.size(), 4u);
    for (const auto& lanes : found) {
      EXPECT_EQ(lanes[0], kNoIndex);
      for (int i = 0; i < threads; ++i) {
        EXPECT_EQ(lanes[static_cast<size_t>(1 + i)], 1u);
        EXPECT_EQ(lanes[static_cast<size_t>(1 + threads + i)], 2u);
      }
    }
  }
}

TEST(HostGroups, OperationsOfEveryGroupAreLinked) {
  std::vector<EventTable> tables;
  for (const auto& table : square(kChance, 2)) tables.push_back(*table);
  const LinkedJob job = link_job(std::move(tables), {});
  EXPECT_EQ(job.matches.counts.by_sequence, 4u * 2 * kSteps);
  EXPECT_EQ(job.linked.counts.rendezvous, 4u * kSteps);
  EXPECT_EQ(job.matches.groups.size(), 4u);
}

TEST(HostGroups, WhatFitsSeveralWaysIsLeftOpen) { EXPECT_TRUE(groups_of_host_lanes(plain(square({500}, 1))).empty()); }

TEST(HostGroups, OneGroupOrOneRankNeedsNoTelling) {
  EXPECT_TRUE(groups_of_host_lanes({}).empty());
  const auto a = gloo_rank(0, 3, 4000, 9000), b = gloo_rank(1, 3, 4000, 9000);
  EXPECT_TRUE(groups_of_host_lanes(plain({a, b})).empty());
  EXPECT_TRUE(groups_of_host_lanes(plain({square(kChance, 2)[0]})).empty());
}

}  // namespace
}  // namespace lumos

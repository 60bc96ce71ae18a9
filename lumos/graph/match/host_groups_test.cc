#include "lumos/graph/match/host_groups.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "lumos/graph/job/job.h"
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

/// Ids as a system gives them out: ranks start a group's two threads at once, so those of others come between them.
std::vector<std::array<int64_t, 4>> mixed_ids() {
  std::vector<std::array<int64_t, 4>> ids(4);
  int64_t next = 100;
  for (const size_t first : {size_t{0}, size_t{2}}) {
    std::vector<size_t> starts = {0, 0, 1, 1, 2, 2, 3, 3};
    for (size_t i = starts.size(); i > 1; --i) {
      std::swap(starts[i - 1], starts[*rc::gen::inRange<size_t>(0, i)]);
    }
    std::array<size_t, 4> started = {0, 0, 0, 0};
    for (const size_t rank : starts) {
      // The store and the engine start threads of their own.
      next += *rc::gen::inRange(1, 9);
      ids[rank][first + started[rank]++] = next;
    }
  }
  return ids;
}

RC_GTEST_PROP(HostGroupsProperty, IdsOfOtherProcessesMayComeBetweenThoseOfAGroup, ()) {
  const auto ids = mixed_ids();
  auto tables = square(kChance, 2);
  for (size_t rank = 0; rank < 4; ++rank) {
    EventTable table = *tables[rank];
    for (size_t i = 0; i < 4; ++i) table.lanes[1 + i].tid = ids[rank][i];
    // One of a group's threads may never have had anything to do.
    const size_t idle = *rc::gen::inRange<size_t>(0, 5);
    if (idle > 0) {
      const uint32_t to = static_cast<uint32_t>(idle % 2 == 1 ? idle + 1 : idle - 1);
      for (uint32_t& lane : table.lane) lane = lane == idle ? to : lane;
    }
    tables[rank] = std::make_shared<const EventTable>(std::move(table));
  }
  const LaneGroups found = groups_of_host_lanes(plain(tables));
  RC_ASSERT(found.size() == 4u);
  for (size_t rank = 0; rank < 4; ++rank) {
    for (size_t row = 0; row < tables[rank]->size(); ++row) {
      const uint32_t lane = tables[rank]->lane[row];
      RC_ASSERT(found[rank][lane] == (lane == 0 ? kNoIndex : lane < 3 ? 1u : 2u));
    }
  }
}

TEST(HostGroups, WhatFitsSeveralWaysIsLeftOpen) { EXPECT_TRUE(groups_of_host_lanes(plain(square({500}, 1))).empty()); }

/// Many groups of equal operations: nothing tells them apart, and that must not take long to find out.
TEST(HostGroups, ManyEqualGroupsAreLeftOpenAtOnce) {
  std::vector<std::shared_ptr<const EventTable>> tables;
  for (int rank = 0; rank < 16; ++rank) {
    TestTable t;
    const uint32_t main = t.thread(1);
    std::vector<uint32_t> threads;
    for (int i = 0; i < 9; ++i) threads.push_back(t.thread(100 + 16 * i + rank));
    t.step(main, 0, 0, 400'000 * kUs);
    for (int i = 0; i < 900; ++i) {
      t.op(main, "c10d::allreduce_", i * 100 * kUs, 40 * kUs);
      t.row(EventKind::kAnnotation, "gloo:all_reduce", threads[static_cast<size_t>(i) % threads.size()],
            (i * 100 + 50) * kUs, 45 * kUs);
    }
    t.table().info.rank = rank;
    t.table().info.world_size = 16;
    for (int g = 0; g < 12; ++g) {
      t.table().info.groups.push_back(
          {std::to_string(g), "", 16, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}});
    }
    tables.push_back(t.finish());
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(groups_of_host_lanes(plain(tables)).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

/// Two operations wait in one queue of two threads, and each rank's threads take them up as chance has it.
TEST(HostGroups, OperationsMeetInTheOrderOfTheCalls) {
  std::vector<EventTable> tables;
  for (int rank = 0; rank < 2; ++rank) {
    TestTable t;
    const uint32_t main = t.thread(1), first = t.thread(110), second = t.thread(112), third = t.thread(120),
                   fourth = t.thread(122);
    for (int step = 0; step < kSteps; ++step) {
      const int64_t begin = step * 20'000 * kUs;
      t.step(main, step, begin, 20'000 * kUs);
      const auto reduce = [&](std::string_view dims, int64_t at_us, int64_t start_us, uint32_t thread) {
        t.shaped(t.op(main, "c10d::allreduce_", begin + at_us * kUs, 40 * kUs), dims, "[\"float\"]");
        const uint32_t row =
            t.row(EventKind::kAnnotation, "gloo:all_reduce", thread, begin + start_us * kUs, 3000 * kUs);
        t.shaped(row, dims, "[\"float\"]");
      };
      const bool swapped = (step + rank) % 2 == 0;
      reduce("[[100]]", 1000, swapped ? 1120 : 1110, first);
      reduce("[[200]]", 1050, swapped ? 1110 : 1120, second);
      reduce("[[300]]", 9000, 9100, step % 2 == 0 ? third : fourth);
    }
    t.table().info.rank = rank;
    t.table().info.world_size = 2;
    t.table().info.groups = {{"0", "default_pg", 2, {0, 1}}, {"1", "", 2, {0, 1}}};
    tables.push_back(*t.finish());
  }
  const LinkedJob job = link_job(std::move(tables), {});
  EXPECT_EQ(job.matches.counts.by_sequence, 2u * 3 * kSteps);
  for (size_t m = 0; m < job.matches.size(); ++m) {
    const auto members = job.matches.members_of(m);
    EXPECT_EQ(job.matches.kernels[members[0]].bytes, job.matches.kernels[members.back()].bytes);
  }
}

/// On a busy machine threads notice ends so late that a clock is taken to be wrong by more than an operation lasts.
TEST(HostGroups, WrongClocksDoNotPartWhatTheOrderOfCallsJoins) {
  auto tables = square(kChance, 2);
  std::vector<EventTable> late;
  for (size_t rank = 0; rank < 4; ++rank) {
    EventTable table = *tables[rank];
    for (uint32_t row = 0; row < table.size(); ++row) {
      const bool in_first_step = table.ts_ns[row] < 20'000 * kUs;
      if (rank == 3 && table.lane[row] != 0 && !in_first_step) table.dur_ns[row] += 1500 * kUs;
    }
    late.push_back(std::move(table));
  }
  const LinkedJob job = link_job(std::move(late), {});
  EXPECT_EQ(job.matches.counts.refused, 0u);
  EXPECT_EQ(job.matches.counts.by_sequence, 4u * 2 * kSteps);
}

TEST(HostGroups, OneGroupOrOneRankNeedsNoTelling) {
  EXPECT_TRUE(groups_of_host_lanes({}).empty());
  const auto a = gloo_rank(0, 3, 4000, 9000), b = gloo_rank(1, 3, 4000, 9000);
  EXPECT_TRUE(groups_of_host_lanes(plain({a, b})).empty());
  EXPECT_TRUE(groups_of_host_lanes(plain({square(kChance, 2)[0]})).empty());
}

}  // namespace
}  // namespace lumos

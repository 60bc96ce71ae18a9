#include "lumos/report/figures/breakdown.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

constexpr int64_t kRange = 40;

std::vector<BusyInterval> some_intervals() {
  const size_t count = *rc::gen::inRange<size_t>(0, 12);
  std::vector<BusyInterval> result;
  for (size_t i = 0; i < count; ++i) {
    const int64_t start = *rc::gen::inRange<int64_t>(0, kRange);
    result.push_back({start, start + *rc::gen::inRange<int64_t>(1, 15), *rc::gen::arbitrary<bool>(), 0});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const BusyInterval& a, const BusyInterval& b) { return a.start_ns < b.start_ns; });
  return result;
}

Window some_window() {
  const int64_t start = *rc::gen::inRange<int64_t>(0, kRange);
  return {start, start + *rc::gen::inRange<int64_t>(0, kRange)};
}

/// The definition, nanosecond by nanosecond.
Breakdown by_definition(const std::vector<BusyInterval>& intervals, Window window) {
  Breakdown result;
  for (int64_t ns = window.start_ns; ns < window.end_ns; ++ns) {
    bool compute = false;
    bool comm = false;
    for (const BusyInterval& interval : intervals) {
      if (interval.start_ns <= ns && ns < interval.end_ns) (interval.communication ? comm : compute) = true;
    }
    ++(compute ? (comm ? result.overlapped_ns : result.exposed_compute_ns)
               : (comm ? result.exposed_comm_ns : result.other_ns));
  }
  return result;
}

bool same(const Breakdown& a, const Breakdown& b) {
  return a.exposed_compute_ns == b.exposed_compute_ns && a.overlapped_ns == b.overlapped_ns &&
         a.exposed_comm_ns == b.exposed_comm_ns && a.other_ns == b.other_ns;
}

TEST(Breakdown, IsTheDefinition) {
  EXPECT_TRUE(rc::check([] {
    const auto intervals = some_intervals();
    const Window window = some_window();
    RC_ASSERT(same(breakdown(intervals, window), by_definition(intervals, window)));
  }));
}

TEST(Breakdown, SumsToTheWindow) {
  EXPECT_TRUE(rc::check([] {
    const auto intervals = some_intervals();
    const Window window = some_window();
    RC_ASSERT(breakdown(intervals, window).total_ns() == window.length_ns());
  }));
}

TEST(Breakdown, WindowsAddUp) {
  EXPECT_TRUE(rc::check([] {
    const auto intervals = some_intervals();
    const Window window = some_window();
    const int64_t cut = window.start_ns + window.length_ns() / 2;
    Breakdown parts = breakdown(intervals, {window.start_ns, cut});
    parts += breakdown(intervals, {cut, window.end_ns});
    RC_ASSERT(same(parts, breakdown(intervals, window)));
  }));
}

TEST(Breakdown, OfNothingIsOther) {
  EXPECT_EQ(breakdown({}, {5, 15}).other_ns, 10);
  EXPECT_EQ(breakdown({}, {5, 5}).total_ns(), 0);
}

TEST(BusyIntervals, OrderOfRowsDoesNotMatter) {
  EXPECT_TRUE(rc::check([] {
    auto rows = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
        rc::gen::tuple(rc::gen::inRange(0, 2), rc::gen::inRange(0, 30), rc::gen::inRange(0, 9)));
    const auto parts = [](const std::vector<std::tuple<int, int, int>>& of) {
      TestGraph g(1, 2);
      for (const auto& [lane, ts, dur] : of) {
        g.row(EventKind::kKernel, lane == 0 ? "gemm" : "ncclKernel_AllReduce", 1 + lane, ts, dur);
      }
      g.finish({});
      return breakdown(busy_intervals(g.table()), {0, 40});
    };
    auto shuffled = rows;
    std::reverse(shuffled.begin(), shuffled.end());
    RC_ASSERT(same(parts(rows), parts(shuffled)));
  }));
}

TEST(BusyIntervals, WithoutGpuWorkOperatorsCountAndGlooIsCommunication) {
  TestGraph g(2, 0);
  g.row(EventKind::kCpuOp, "c10d::allreduce_", 0, 0, 100);
  g.row(EventKind::kAnnotation, "gloo:all_reduce", 0, 20, 50);
  g.row(EventKind::kCpuOp, "inside", 0, 30, 10);
  g.row(EventKind::kCpuOp, "aten::mm", 1, 60, 60);
  g.row(EventKind::kAnnotation, "ProfilerStep#1", 0, 0, 200);
  g.finish({});
  const Breakdown parts = breakdown(busy_intervals(g.table()), {0, 200});
  EXPECT_EQ(parts.exposed_comm_ns, 40);     // [20, 60)
  EXPECT_EQ(parts.overlapped_ns, 10);       // [60, 70)
  EXPECT_EQ(parts.exposed_compute_ns, 70);  // [0, 20) and [70, 120)
  EXPECT_EQ(parts.other_ns, 80);
}

}  // namespace
}  // namespace lumos

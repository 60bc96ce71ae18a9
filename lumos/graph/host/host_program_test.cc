#include "lumos/graph/host/host_program.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "lumos/graph/test_table.h"

namespace lumos {
namespace {

// "name start-end" of every segment, for reading.
std::vector<std::string> segments_of(const TestPrograms& p) {
  std::vector<std::string> out;
  for (const HostSegment& s : p.host.segments) {
    out.push_back((s.row == kNoIndex ? "-" : std::string(p.table->name_of(s.row))) + " " + std::to_string(s.start_ns) +
                  "-" + std::to_string(s.end_ns));
  }
  return out;
}

TEST(HostProgram, NestedEventsBecomeExclusiveSegments) {
  TestTable t;
  const uint32_t thread = t.thread();
  t.op(thread, "outer", 100, 100);
  const uint32_t inner = t.op(thread, "inner", 120, 50);
  t.call(thread, "cudaLaunchKernel", 130, 10);
  t.op(thread, "next", 230, 20);
  const TestPrograms p(t);
  EXPECT_EQ(segments_of(p), (std::vector<std::string>{"outer 100-120", "inner 120-130", "cudaLaunchKernel 130-140",
                                                      "inner 140-170", "outer 170-200", "- 200-230", "next 230-250"}));
  ASSERT_EQ(p.host.calls.size(), 1u);
  EXPECT_EQ(p.host.calls[0].kind, CallKind::kLaunch);
  EXPECT_EQ(p.host.parent[p.host.calls[0].row], inner);
  EXPECT_EQ(p.host.origin_ns, 100);
}

TEST(HostProgram, AChildThatEndsAfterItsParentExtendsIt) {
  TestTable t;
  const uint32_t thread = t.thread();
  t.op(thread, "outer", 0, 10);
  t.op(thread, "inner", 5, 7);  // ends at 12
  t.op(thread, "after", 11, 9);
  const TestPrograms p(t);
  EXPECT_EQ(segments_of(p), (std::vector<std::string>{"outer 0-5", "inner 5-11", "after 11-20"}));
}

TEST(HostProgram, ACallWithoutDurationIsStillAPointOfTheProgram) {
  TestTable t;
  const uint32_t thread = t.thread();
  t.op(thread, "op", 0, 10);
  const uint32_t call = t.call(thread, "cudaLaunchKernel", 4, 0);
  t.op(thread, "empty", 6, 0);
  const TestPrograms p(t);
  EXPECT_EQ(segments_of(p), (std::vector<std::string>{"op 0-4", "cudaLaunchKernel 4-4", "op 4-6", "op 6-10"}));
  EXPECT_TRUE(p.host.segments[p.host.segment_of_row[call]].is_call);
}

TEST(HostProgram, NestedCallsAreCountedOnce) {
  TestTable t;
  const uint32_t thread = t.thread();
  const uint32_t outer = t.call(thread, "cudaLaunchKernel", 0, 100);
  const uint32_t inner = t.call(thread, "cuModuleLoadData", 20, 70);
  const TestPrograms p(t);
  EXPECT_EQ(segments_of(p),
            (std::vector<std::string>{"cudaLaunchKernel 0-20", "cuModuleLoadData 20-90", "cudaLaunchKernel 90-100"}));
  EXPECT_TRUE(p.host.segments[0].is_call);
  EXPECT_TRUE(p.host.segments[1].is_call);
  EXPECT_FALSE(p.host.segments[2].is_call);
  EXPECT_EQ(p.host.parent[inner], outer);
}

TEST(HostProgram, ThreadsThatOnlyPollAreLeftOutByName) {
  TestTable t;
  const uint32_t worker = t.thread(7);
  const uint32_t watchdog = t.thread(8);
  t.op(worker, "op", 50, 10);
  for (int i = 0; i < 3; ++i) t.call(watchdog, "cudaEventQuery", 10 * i, 2);
  const TestPrograms p(t);
  ASSERT_EQ(p.host.threads.size(), 1u);
  EXPECT_EQ(p.host.left_out, std::vector<std::string>{"thread 8"});
  EXPECT_TRUE(p.host.calls.empty());
}

TEST(HostProgram, APollBetweenOperatorsIsPartOfTheProgram) {
  TestTable t;
  const uint32_t worker = t.thread();
  t.op(worker, "op", 0, 10);
  t.call(worker, "cudaEventQuery", 12, 2);
  const TestPrograms p(t);
  EXPECT_EQ(p.host.threads.size(), 1u);
  EXPECT_EQ(p.host.calls.size(), 1u);
  EXPECT_TRUE(p.host.left_out.empty());
}

TEST(HostProgram, CallsOfAllThreadsAreInOrderOfTime) {
  TestTable t;
  const uint32_t a = t.thread(1), b = t.thread(2);
  t.call(b, "cudaLaunchKernel", 30, 5);
  t.call(a, "cudaLaunchKernel", 10, 5);
  t.call(b, "cudaLaunchKernel", 20, 5);
  const TestPrograms p(t);
  ASSERT_EQ(p.host.calls.size(), 3u);
  for (size_t c = 1; c < 3; ++c) {
    EXPECT_LT(p.table->ts_ns[p.host.calls[c - 1].row], p.table->ts_ns[p.host.calls[c].row]);
  }
}

TEST(HostProgram, NothingGivesNothing) {
  TestTable t;
  t.thread();
  const TestPrograms p(t);
  EXPECT_TRUE(p.host.segments.empty());
  EXPECT_TRUE(p.host.threads.empty());
  EXPECT_EQ(p.host.origin_ns, 0);
}

// Whatever the events, even such as no program can make: segments of a thread adjoin, none runs backwards, and they add
// up to the thread's time.
TEST(HostProgram, SegmentsCoverAThreadOnceForAnyEvents) {
  EXPECT_TRUE(rc::check([] {
    TestTable t;
    const uint32_t thread = t.thread();
    const int count = *rc::gen::inRange(1, 25);
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (int i = 0; i < count; ++i) {
      const int64_t start = *rc::gen::inRange(0, 60), duration = *rc::gen::inRange(0, 30);
      const bool call = *rc::gen::arbitrary<bool>();
      call ? t.call(thread, "cudaLaunchKernel", start, duration) : t.op(thread, "op", start, duration);
      first = std::min(first, start);
      last = std::max(last, start + duration);
    }
    const TestPrograms p(t);
    int64_t now = p.host.segments.empty() ? 0 : p.host.segments.front().start_ns;
    int64_t sum = 0;
    uint32_t calls = 0;
    for (const HostSegment& s : p.host.segments) {
      RC_ASSERT(s.start_ns == now);
      RC_ASSERT(s.end_ns >= s.start_ns);
      now = s.end_ns;
      sum += s.end_ns - s.start_ns;
      calls += s.is_call;
    }
    if (!p.host.segments.empty()) {
      RC_ASSERT(now == last);
      RC_ASSERT(sum == last - p.host.segments.front().start_ns);
      RC_ASSERT(p.host.segments.front().start_ns >= first);
    }
    RC_ASSERT(calls == p.host.calls.size());
    for (const HostCall& c : p.host.calls) {
      RC_ASSERT(p.host.segment_of_row[c.row] != kNoIndex);
      RC_ASSERT(p.host.segments[p.host.segment_of_row[c.row]].row == c.row);
    }
  }));
}

}  // namespace
}  // namespace lumos

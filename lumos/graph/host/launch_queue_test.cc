#include "lumos/graph/host/launch_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lumos/graph/test_table.h"

namespace lumos {
namespace {

constexpr int64_t kKernelNs = 100'000;
constexpr int64_t kCallNs = 2000;
constexpr int64_t kReturnNs = 700;

// `count` launches as fast as the host can; from the `depth`-th on a call returns when the work `depth` before it has
// ended. With `disagree`, calls are long for no such reason.
TestPrograms launches(int count, int depth, bool disagree = false) {
  std::mt19937 random(3);
  TestTable t;
  const uint32_t thread = t.thread(), stream = t.stream(7);
  std::vector<int64_t> ends;
  int64_t now = 0;
  for (int i = 0; i < count; ++i) {
    int64_t end = now + kCallNs;
    if (i >= depth) end = std::max(end, ends[i - depth] + kReturnNs);
    if (disagree && i >= depth) end += std::uniform_int_distribution<int64_t>(0, 4'000'000)(random);
    const uint32_t call = t.call(thread, "cudaLaunchKernel", now, end - now);
    const int64_t start = std::max(now + 5000, ends.empty() ? 0 : ends.back() + 1000);
    t.work(call, stream, "k", start, kKernelNs);
    ends.push_back(start + kKernelNs);
    now = end;
  }
  return TestPrograms(t);
}

LaunchQueue find(const TestPrograms& p) { return find_launch_queue(*p.table, p.host, p.gpu); }

TEST(LaunchQueue, TheDepthAtWhichCallsAreHeldIsFound) {
  for (int depth : {256, 1024}) {
    const LaunchQueue queue = find(launches(depth + 100, depth));
    EXPECT_EQ(queue.depth, static_cast<uint32_t>(depth));
    EXPECT_EQ(queue.return_ns, kReturnNs);
    EXPECT_EQ(queue.call_ns, kCallNs);
    // While the queue fills the GPU works some of it off: 2 us a call, 101 us a kernel.
    EXPECT_GE(queue.blocked.size(), static_cast<size_t>(99 - depth / 50));
    EXPECT_TRUE(std::is_sorted(queue.blocked.begin(), queue.blocked.end()));
  }
}

TEST(LaunchQueue, AProgramThatNeverFillsItShowsNone) { EXPECT_EQ(find(launches(300, 1024)).depth, 0u); }

TEST(LaunchQueue, LongCallsThatDisagreeAreNoLimit) {
  const LaunchQueue queue = find(launches(356, 256, true));
  EXPECT_EQ(queue.depth, 0u);
  EXPECT_TRUE(queue.blocked.empty());
}

TEST(LaunchQueue, AFewLongCallsAreChance) { EXPECT_EQ(find(launches(256 + 5, 256)).depth, 0u); }

TEST(LaunchQueue, NothingGivesNothing) { EXPECT_EQ(find(launches(0, 1)).depth, 0u); }

}  // namespace
}  // namespace lumos

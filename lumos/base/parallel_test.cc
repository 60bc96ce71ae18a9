#include "lumos/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stop_token>
#include <vector>

namespace lumos {
namespace {

TEST(ParallelFor, RunsEveryItemOnceForAnyNumberOfThreads) {
  for (const int threads : {0, 1, 3, 64}) {
    std::vector<std::atomic<int>> ran(100);
    parallel_for(ran.size(), threads, [&](size_t i) { ++ran[i]; });
    for (const auto& count : ran) EXPECT_EQ(count, 1);
  }
  parallel_for(0, 4, [](size_t) { FAIL(); });
}

TEST(ParallelFor, BeginsNoItemOnceItIsAskedToStop) {
  for (const int threads : {1, 4}) {
    std::stop_source stop;
    std::atomic<size_t> ran{0};
    const auto body = [&](size_t i) {
      ++ran;
      if (i == 10) stop.request_stop();
    };
    parallel_for(1'000'000, threads, body, stop.get_token());
    EXPECT_GE(ran, 11u);
    EXPECT_LT(ran, 1'000'000u);
  }
}

}  // namespace
}  // namespace lumos

#include "lumos/graph/rank/full_gpu.h"

#include <gtest/gtest.h>

#include "lumos/graph/test_programs.h"

namespace lumos {
namespace {

constexpr int32_t kSms = 100;

void set_grid(TestTable& t, uint32_t row, int32_t blocks) {
  GpuDetail detail;
  detail.grid[0] = blocks;
  detail.grid[1] = detail.grid[2] = 1;
  detail.block[0] = 1024;  // one block an SM
  detail.block[1] = detail.block[2] = 1;
  t.table().detail[row] = static_cast<uint32_t>(t.table().gpu.size());
  t.table().gpu.push_back(detail);
}

// `count` times: a kernel of 10 waves on one stream, and on another one launched while it runs that begins after
// `part(i)` of its duration.
template <class Part>
TestPrograms beside(int count, Part part, const char* running = "long", int32_t blocks = 10 * kSms) {
  TestTable t;
  DeviceProperties device;
  device.num_sms = kSms;
  device.max_threads_per_sm = 1024;
  t.table().info.devices = {device};
  const uint32_t main = t.thread(), s7 = t.stream(7), s8 = t.stream(8);
  for (int i = 0; i < count; ++i) {
    const int64_t at = 2'000'000 * i + 1, length = 500'000 + 40'000 * i;
    set_grid(t, t.launch(main, at, s7, running, at + 5000, length).work, blocks);
    const auto held = static_cast<int64_t>(part(i) * static_cast<double>(length));
    const std::string name = "short" + std::to_string(i);  // never the same pair twice
    set_grid(t, t.launch(main, at + 2000, s8, name, at + 5000 + held, 10'000).work, 1);
  }
  return TestPrograms(t);
}

std::vector<FirstWave> find(const TestPrograms& p) { return find_full_gpu(rank_programs(p)); }

TEST(FullGpu, AKernelWaitsUntilAllButTheLastWaveIsPlaced) {
  const TestPrograms p = beside(10, [](int i) { return 0.9 + 0.002 * i; });
  const std::vector<FirstWave> found = find(p);
  ASSERT_EQ(found.size(), 10u);
  for (const FirstWave& wave : found) {
    const GpuWork& running = p.gpu.work[wave.running];
    EXPECT_EQ(p.table->name_of(running.row), "long");
    EXPECT_EQ(wave.lag_ns, (running.end_ns - running.start_ns) * 9 / 10);
  }
}

TEST(FullGpu, WhereKernelsRunBesideEachOtherThereIsNoSuchRule) {
  EXPECT_TRUE(find(beside(20, [](int) { return 0.02; })).empty());
  EXPECT_TRUE(find(beside(20, [](int i) { return i % 3 ? 0.9 : 0.1; })).empty());
}

TEST(FullGpu, AKernelOfOneWaveHoldsNobody) {
  EXPECT_TRUE(find(beside(
                       10, [](int) { return 0.9; }, "small", kSms))
                  .empty());
}

TEST(FullGpu, AFewCasesAreChance) {
  EXPECT_TRUE(find(beside(5, [](int) { return 0.9; })).empty());
}

TEST(FullGpu, WithoutTheDeviceNothingIsKnown) {
  TestTable t;
  const uint32_t main = t.thread();
  t.launch(main, 0, t.stream(7), "a", 5000, 100);
  t.launch(main, 2000, t.stream(8), "b", 9000, 100);
  EXPECT_TRUE(find(TestPrograms(t)).empty());
}

}  // namespace
}  // namespace lumos

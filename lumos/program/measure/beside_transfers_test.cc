#include "lumos/program/measure/beside_transfers.h"

#include <gtest/gtest.h>

#include "lumos/graph/test_table.h"

namespace lumos {
namespace {

constexpr int64_t kUs = 1000;

/// A compute stream and one for collectives, whose rows are tasks in the order in which they are added.
class TwoStreams {
 public:
  TwoStreams() : compute_(table_.stream(7)), network_(table_.stream(20)) {}

  void kernel(int64_t start_us, int64_t dur_us) { task(compute_, TaskKind::kKernel, 0, start_us, dur_us); }
  void collective(int64_t start_us, int64_t dur_us) {
    Transfer transfer;
    transfer.row = task(network_, TaskKind::kTransfer, 1, start_us, dur_us);
    transfers_.transfers.push_back(transfer);
  }

  /// With kernels that take `stretch` times as long.
  std::vector<BesideTransfer> beside(double stretch) {
    rank_.table = table_.finish();
    std::vector<int64_t> durations_ns;
    for (const BlockTask& task : rank_.tasks)
      durations_ns.push_back(static_cast<int64_t>(static_cast<double>(task.duration_ns) * stretch));
    return beside_transfers(rank_, transfers_, durations_ns);
  }

 private:
  uint32_t task(uint32_t stream, TaskKind kind, uint16_t lane, int64_t start_us, int64_t dur_us) {
    BlockTask task;
    task.event = table_.row(EventKind::kKernel, "kernel", stream, start_us * kUs, dur_us * kUs);
    task.duration_ns = dur_us * kUs;
    task.lane = lane;
    task.kind = kind;
    rank_.tasks.push_back(task);
    return task.event;
  }

  TestTable table_;
  uint32_t compute_, network_;
  RankProgram rank_;
  RankTransfers transfers_;
};

TEST(BesideTransfers, KernelsUntilTheFirstThatBeginsAfterTheTransferAreBesideIt) {
  TwoStreams streams;
  streams.kernel(0, 100);
  streams.collective(102, 150);
  streams.kernel(110, 100);  // after a gap of 8
  streams.kernel(210, 90);
  streams.kernel(300, 50);  // after the end at 252
  const std::vector<BesideTransfer> found = streams.beside(0.5);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].traced_ns, (8 + 100 + 90) * kUs);
  EXPECT_EQ(found[0].changed_ns, (8 + 50 + 45) * kUs);
}

TEST(BesideTransfers, OfAKernelThatRunsAlreadyTheRestCounts) {
  TwoStreams streams;
  streams.kernel(0, 100);
  streams.collective(60, 20);
  const std::vector<BesideTransfer> found = streams.beside(2);
  EXPECT_EQ(found[0].traced_ns, 40 * kUs);
  EXPECT_EQ(found[0].changed_ns, 80 * kUs);
}

TEST(BesideTransfers, WhatComesAfterAStandstillIsNotBeside) {
  TwoStreams streams;
  streams.kernel(0, 100);
  streams.collective(102, 1000);
  streams.kernel(1050, 2);  // a fill that waits for nobody
  EXPECT_EQ(streams.beside(1)[0].traced_ns, 0);
  TwoStreams busy;
  busy.collective(0, 1000);
  busy.kernel(1, 100);
  busy.kernel(900, 50);
  EXPECT_EQ(busy.beside(2)[0].traced_ns, 101 * kUs);
}

TEST(BesideTransfers, NothingIsBesideATransferThatEverybodyWaitsFor) {
  TwoStreams streams;
  streams.kernel(0, 100);
  streams.collective(102, 50);
  streams.kernel(153, 100);
  const std::vector<BesideTransfer> found = streams.beside(2);
  EXPECT_EQ(found[0].traced_ns, 0);
  EXPECT_EQ(found[0].changed_ns, 0);
}

TEST(BesideTransfers, BeginsWhenReadyUnlessItsStreamWasTaken) {
  TwoStreams streams;
  streams.kernel(0, 100);
  streams.collective(102, 200);
  streams.kernel(102, 198);
  streams.collective(303, 50);  // a kernel ended at 300, but so did the transfer before, at 302
  streams.collective(400, 50);  // long after both
  streams.kernel(400, 60);
  streams.collective(461, 50);
  const std::vector<BesideTransfer> found = streams.beside(1);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_TRUE(found[0].when_ready);
  EXPECT_FALSE(found[1].when_ready);
  EXPECT_FALSE(found[2].when_ready);
  EXPECT_TRUE(found[3].when_ready);
}

TEST(BesideTransfers, ARankWithoutKernelsHasNothingBeside) {
  TwoStreams streams;
  streams.collective(0, 10);
  const std::vector<BesideTransfer> found = streams.beside(1);
  EXPECT_EQ(found[0].traced_ns, 0);
  EXPECT_FALSE(found[0].when_ready);
}

}  // namespace
}  // namespace lumos

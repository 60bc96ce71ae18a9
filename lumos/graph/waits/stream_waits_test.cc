#include "lumos/graph/waits/stream_waits.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "lumos/graph/test_program.h"

namespace lumos {
namespace {

constexpr int64_t kToleranceNs = 1000;

struct Found {
  std::set<TestProgram::Wait> waits;  // rows
  std::vector<StreamWait> list;
};

Found find_waits(TestProgram& program, bool use_sync_rows = true) {
  const TestPrograms p(program.rows);
  Found found;
  found.list = find_stream_waits(*p.table, p.host, p.gpu, kToleranceNs, {use_sync_rows});
  for (const StreamWait& wait : found.list) {
    found.waits.insert({p.gpu.work[wait.waiting].row, p.gpu.work[wait.source].row});
    EXPECT_NE(p.gpu.work[wait.waiting].stream, p.gpu.work[wait.source].stream);
    EXPECT_LE(p.gpu.work[wait.source].end_ns, p.gpu.work[wait.waiting].start_ns + kToleranceNs);
  }
  return found;
}

// PyTorch's NCCL pattern: the collective's stream waits for the current one, and the end of the collective is recorded.
TestProgram::Event all_reduce(TestProgram& p, uint32_t thread, uint32_t compute, uint32_t comm, int64_t duration_ns) {
  p.open(thread, "c10d::allreduce_");
  p.open(thread, "record_param_comms");
  p.wait(thread, comm, p.record(thread, compute));
  p.launch(thread, comm, kNcclKernel, duration_ns);
  const TestProgram::Event end = p.record(thread, comm);
  p.close(thread);
  p.close(thread);
  return end;
}

void gemm(TestProgram& p, uint32_t thread, uint32_t stream, int64_t duration_ns) {
  p.open(thread, "aten::mm");
  p.launch(thread, stream, "gemm", duration_ns);
  p.close(thread);
}

struct TwoStreams : TestProgram {
  explicit TwoStreams(const TestMachine& machine = {}) : TestProgram(machine) {}
  uint32_t main = thread();
  uint32_t compute = stream(7);
  uint32_t comm = stream(20);
};

void synchronous_layers(TwoStreams& p, int layers) {
  for (int i = 0; i < layers; ++i) {
    gemm(p, p.main, p.compute, 20000 + 1000 * (i % 5));
    const auto end = all_reduce(p, p.main, p.compute, p.comm, 30000 + 500 * (i % 7));
    p.wait(p.main, p.compute, end);
    gemm(p, p.main, p.compute, 15000);
  }
}

TEST(StreamWaits, SynchronousCollectives) {
  TwoStreams p;
  synchronous_layers(p, 8);
  EXPECT_EQ(find_waits(p).waits, p.waits());
}

TEST(StreamWaits, AsynchronousCollectivesWaitedForLater) {
  TwoStreams p;
  for (int i = 0; i < 8; ++i) {
    gemm(p, p.main, p.compute, 20000 + 1000 * (i % 5));
    const auto end = all_reduce(p, p.main, p.compute, p.comm, 60000);
    gemm(p, p.main, p.compute, 25000);
    gemm(p, p.main, p.compute, 5000);
    p.wait(p.main, p.compute, end);
    gemm(p, p.main, p.compute, 15000);
  }
  EXPECT_EQ(find_waits(p).waits, p.waits());
}

TEST(StreamWaits, BucketsAreWaitedForInTheOrderOfTheirLaunch) {
  TwoStreams p;  // DDP: all buckets in the backward pass, all waits at its end
  for (int step = 0; step < 4; ++step) {
    std::vector<TestProgram::Event> buckets;
    for (int i = 0; i < 3; ++i) {
      gemm(p, p.main, p.compute, 30000);
      buckets.push_back(all_reduce(p, p.main, p.compute, p.comm, 45000 + 1000 * i));
    }
    for (const auto& bucket : buckets) {
      p.wait(p.main, p.compute, bucket);
      p.open(p.main, "aten::copy_");
      p.launch(p.main, p.compute, "copy", 3000);
      p.close(p.main);
    }
    p.synchronize_device(p.main);
  }
  EXPECT_EQ(find_waits(p).waits, p.waits());
}

TEST(StreamWaits, RecordAndWaitSideBySideAreAPair) {
  TwoStreams p;  // wait_stream() both ways around the work of a side stream
  for (int i = 0; i < 6; ++i) {
    gemm(p, p.main, p.compute, 20000);
    p.wait(p.main, p.comm, p.record(p.main, p.compute));
    p.open(p.main, "aten::copy_");
    p.launch(p.main, p.comm, "copy", 12000);
    p.close(p.main);
    p.wait(p.main, p.compute, p.record(p.main, p.comm));
    gemm(p, p.main, p.compute, 10000);
  }
  EXPECT_EQ(find_waits(p).waits, p.waits());
}

// One record and several waits: as many streams wait for the same point.
TEST(StreamWaits, AForkOfStreams) {
  for (bool records : {true, false}) {
    TestMachine machine;
    machine.records = records;
    TwoStreams p(machine);
    const uint32_t other = p.stream(21);
    for (int i = 0; i < 6; ++i) {
      gemm(p, p.main, p.compute, 20000);
      const auto event = p.record(p.main, p.compute);
      p.wait(p.main, p.comm, event);
      p.wait(p.main, other, event);
      p.launch(p.main, p.comm, "left", 12000);
      p.launch(p.main, other, "right", 9000);
      p.synchronize_device(p.main);
    }
    EXPECT_EQ(find_waits(p).waits, p.waits()) << "records " << records;
  }
}

// The wait after the synchronise follows a wait, but means what the other thread launched meanwhile.
TEST(StreamWaits, ASynchronisePartsTwoWaits) {
  TwoStreams p;
  const uint32_t autograd = p.thread(), side = p.stream(30);
  for (int i = 0; i < 6; ++i) {
    p.set_now(p.main, p.now(autograd));
    p.launch(p.main, side, "copy", 3000);
    p.wait(p.main, p.compute, p.record(p.main, side));
    p.synchronize_device(p.main);
    p.set_now(autograd, p.now(p.main));
    gemm(p, autograd, p.compute, 20000);
    const auto end = all_reduce(p, autograd, p.compute, p.comm, 60000);
    p.set_now(p.main, p.now(autograd));
    p.wait(p.main, p.compute, end);
    gemm(p, p.main, p.compute, 10000);
  }
  const std::set<TestProgram::Wait> found = find_waits(p).waits;
  for (const TestProgram::Wait& wait : p.waits()) EXPECT_TRUE(found.count(wait)) << wait.first << " " << wait.second;
}

TEST(StreamWaits, WithoutRecordCallsCollectivesAreFoundAllTheSame) {
  TestMachine machine;
  machine.records = false;
  TwoStreams p(machine);
  synchronous_layers(p, 8);
  EXPECT_EQ(find_waits(p).waits, p.waits());
}

// Nothing around the launches tells which of two collectives is meant, but the older one would end far too late.
TEST(StreamWaits, ASiteMovesToTheReadingThatTimeAllows) {
  TwoStreams p;
  const uint32_t other = p.stream(21);
  for (int i = 0; i < 12; ++i) {
    gemm(p, p.main, p.compute, 20000);
    const auto slow = all_reduce(p, p.main, p.compute, p.comm, 400000);
    const auto fast = all_reduce(p, p.main, p.compute, other, 40000);
    gemm(p, p.main, p.compute, 10000);
    p.wait(p.main, p.compute, fast);
    p.open(p.main, "aten::add");
    p.launch(p.main, p.compute, "add", 5000);
    p.close(p.main);
    p.wait(p.main, p.compute, slow);
    p.open(p.main, "aten::mul");
    p.launch(p.main, p.compute, "mul", 5000);
    p.close(p.main);
    p.synchronize_device(p.main);
  }
  EXPECT_EQ(find_waits(p).waits, p.waits());
}

TEST(StreamWaits, RowsThatNameTheEventAreReadNotInferred) {
  TestMachine machine;
  machine.sync_rows = true;
  TwoStreams p(machine);
  const uint32_t side = p.stream(30);
  TestProgram::Event kept{};
  for (int i = 0; i < 5; ++i) {
    gemm(p, p.main, p.compute, 20000);
    const auto now = p.record(p.main, p.compute);
    gemm(p, p.main, p.compute, 20000);
    if (i > 0) p.wait(p.main, side, kept);  // an event from one round ago: no rule would guess it
    p.launch(p.main, side, "copy", 5000);
    kept = now;
  }
  const auto truth = p.waits();
  const Found found = find_waits(p);
  EXPECT_EQ(found.waits, truth);
  ASSERT_FALSE(found.list.empty());
  for (const StreamWait& wait : found.list) {
    EXPECT_TRUE(wait.recorded);
    EXPECT_EQ(wait.confidence_pct, 100);
  }
}

// Streams are numbered per device: a process with two of them has two streams 7 and two streams 20.
TEST(StreamWaits, RowsNameTheStreamsOfTheirOwnDevice) {
  TestMachine machine;
  machine.sync_rows = true;
  TestProgram p(machine);
  const uint32_t main = p.thread();
  struct Device {
    uint32_t compute, side;
  };
  std::vector<Device> devices;
  for (int64_t device : {0, 1}) devices.push_back({p.stream(7, device), p.stream(20, device)});
  for (int i = 0; i < 6; ++i) {
    const Device& device = devices[i % 2];
    p.launch(main, device.compute, "gemm", 20'000 + 1000 * i);
    p.wait(main, device.side, p.record(main, device.compute));
    p.launch(main, device.side, "copy", 30'000);
    p.wait(main, device.compute, p.record(main, device.side));
    p.launch(main, device.compute, "add", 5000);
  }
  const auto truth = p.waits();
  EXPECT_EQ(truth.size(), 12u);
  EXPECT_EQ(find_waits(p).waits, truth);
}

TEST(StreamWaits, RowsThatNameTheEventCanBeLeftUnread) {
  TestMachine machine;
  machine.sync_rows = true;
  TwoStreams p(machine);
  synchronous_layers(p, 8);
  const auto truth = p.waits();
  const Found found = find_waits(p, false);
  EXPECT_EQ(found.waits, truth);
  for (const StreamWait& wait : found.list) EXPECT_FALSE(wait.recorded);
}

// A pair says what it means. A lone wait for one of two collectives that had both ended long before is a choice.
TEST(StreamWaits, AChoiceIsLessSureThanAPattern) {
  TwoStreams pattern, choice;
  synchronous_layers(pattern, 10);
  const uint32_t other = choice.stream(21);
  for (int i = 0; i < 10; ++i) {
    gemm(choice, choice.main, choice.compute, 20000);
    const auto first = all_reduce(choice, choice.main, choice.compute, choice.comm, 30000);
    all_reduce(choice, choice.main, choice.compute, other, 30000);
    choice.TestProgram::compute(choice.main, 500000);
    choice.wait(choice.main, choice.compute, first);
    gemm(choice, choice.main, choice.compute, 15000);
  }
  const Found sure = find_waits(pattern), unsure = find_waits(choice);
  const auto least = [](const Found& f) {
    uint8_t out = 100;
    for (const StreamWait& wait : f.list) out = std::min(out, wait.confidence_pct);
    return out;
  };
  EXPECT_LT(least(unsure), least(sure));
  EXPECT_LT(least(sure), 100);
}

TEST(StreamWaits, OneStreamHasNone) {
  TestProgram p;
  const uint32_t main = p.thread(), compute = p.stream(7);
  gemm(p, main, compute, 1000);
  p.wait(main, compute, p.record(main, compute));
  gemm(p, main, compute, 1000);
  EXPECT_TRUE(find_waits(p).list.empty());
}

// A shared expert on its stream beside all-to-alls that the computing stream waits for at once.
TEST(StreamWaits, ASideStreamIsForkedAndJoinedBetweenLaunchesOfAnother) {
  TwoStreams p;
  const uint32_t shared = p.stream(92), copies = p.stream(88);
  for (int i = 0; i < 8; ++i) {
    gemm(p, p.main, p.compute, 20000);
    p.wait(p.main, shared, p.record(p.main, p.compute));  // two forks side by side
    p.wait(p.main, copies, p.record(p.main, p.compute));
    p.launch(p.main, copies, "copy", 2000);
    for (int half = 0; half < 2; ++half) {
      gemm(p, p.main, p.compute, 8000);
      p.open(p.main, "_AllToAll");
      const auto tokens = all_reduce(p, p.main, p.compute, p.comm, 150000);
      p.wait(p.main, p.compute, tokens);
      p.close(p.main);
      gemm(p, p.main, shared, 30000);
      gemm(p, p.main, p.compute, 25000);
    }
    p.wait(p.main, p.compute, p.record(p.main, shared));  // the join
    gemm(p, p.main, p.compute, 10000);
    p.synchronize_stream(p.main, copies);
  }
  EXPECT_EQ(find_waits(p).waits, p.waits());
}

// Point-to-point operations that stand side by side run as one kernel; each is waited for, and some are again.
TEST(StreamWaits, CoalescedOperationsAreWaitedForOneByOne) {
  TwoStreams p;
  const uint32_t gradients = p.stream(24);
  for (int i = 0; i < 8; ++i) {
    gemm(p, p.main, p.compute, 20000);
    all_reduce(p, p.main, p.compute, gradients, 40000);  // not waited for before the end
    p.open(p.main, "AttnFuncWithCPAndKVP2PBackward");
    for (const char* op : {"c10d::send", "c10d::recv_"}) {
      p.open(p.main, op);
      p.wait(p.main, p.comm, p.record(p.main, p.compute));
      p.close(p.main);
    }
    p.open(p.main, "nccl:coalesced", EventKind::kAnnotation);
    p.launch(p.main, p.comm, "ncclDevKernel_SendRecv(x)", 50000);
    p.close(p.main);
    const auto exchanged = p.record(p.main, p.comm);
    gemm(p, p.main, p.compute, 60000);
    for (int operation = 0; operation < 2; ++operation) p.wait(p.main, p.compute, exchanged);
    gemm(p, p.main, p.compute, 5000);
    for (int operation = 0; operation < 2; ++operation) p.wait(p.main, p.compute, exchanged);
    gemm(p, p.main, p.compute, 5000);
    p.close(p.main);
    p.synchronize_device(p.main);
  }
  const auto found = find_waits(p).waits;
  for (const TestProgram::Wait& wait : p.waits()) EXPECT_TRUE(found.count(wait)) << wait.first << " " << wait.second;
  for (const TestProgram::Wait& wait : found) EXPECT_TRUE(p.waits().count(wait)) << wait.first << " " << wait.second;
}

// TransformerEngine's ring: steps alternate between two streams; sends and receptions of the next step begin on the
// stream of this one, results are corrected on the stream of the step before.
TEST(StreamWaits, ARingOfFourAlternatesBetweenTwoStreams) {
  TwoStreams p;
  const uint32_t second = p.stream(84), receive = p.stream(80), gradients = p.stream(24);
  const uint32_t streams[] = {p.compute, second};
  const auto exchange = [&](uint32_t current) {
    std::vector<TestProgram::Event> out;
    for (uint32_t comm : {p.comm, receive}) out.push_back(all_reduce(p, p.main, current, comm, 15000));
    return out;
  };
  for (int layer = 0; layer < 6; ++layer) {
    gemm(p, p.main, p.compute, 20000);
    all_reduce(p, p.main, p.compute, gradients, 30000);
    p.open(p.main, "AttnFuncWithCPAndKVP2P");
    std::vector<TestProgram::Event> travelling;
    TestProgram::Event corrected{};
    for (int i = 0; i <= 4; ++i) {
      if (i < 4) {
        const uint32_t current = streams[i % 2];
        for (const auto& work : travelling) p.wait(p.main, current, work);
        travelling = i < 3 ? exchange(current) : std::vector<TestProgram::Event>();
        p.launch(p.main, current, "flash_fwd", 60000);
      }
      if (i == 0) continue;
      const uint32_t before = streams[(i - 1) % 2];
      if (i > 1) p.wait(p.main, before, corrected);
      p.launch(p.main, before, "correct", 4000);
      if (i < 4) corrected = p.record(p.main, before);
    }
    p.wait(p.main, p.compute, p.record(p.main, second));
    gemm(p, p.main, p.compute, 10000);
    p.close(p.main);
    p.synchronize_device(p.main);
  }
  EXPECT_EQ(find_waits(p).waits, p.waits());
}

// Any program of launches, records and waits: nothing found contradicts time (find_waits checks it), per source stream
// there is one, and the list is sorted.
TEST(StreamWaits, NeverContradictTimeForAnyProgram) {
  EXPECT_TRUE(rc::check([] {
    TestMachine machine;
    machine.records = *rc::gen::arbitrary<bool>();
    machine.sync_rows = *rc::gen::arbitrary<bool>();
    TestProgram p(machine);
    const uint32_t threads[] = {p.thread(), p.thread()};
    const uint32_t streams[] = {p.stream(7), p.stream(20), p.stream(21)};
    std::vector<TestProgram::Event> events;
    const int count = *rc::gen::inRange(0, 60);
    for (int i = 0; i < count; ++i) {
      const uint32_t thread = threads[*rc::gen::inRange(0, 2)], stream = *rc::gen::inRange(0, 3);
      switch (*rc::gen::inRange(0, 4)) {
        case 0:
          events.push_back(p.record(thread, streams[stream]));
          break;
        case 1:
          if (!events.empty()) p.wait(thread, streams[stream], *rc::gen::elementOf(events));
          break;
        default:
          p.launch(thread, streams[stream], stream == 1 ? kNcclKernel : "gemm", *rc::gen::inRange(0, 50000));
      }
    }
    const TestPrograms programs(p.rows);
    const auto waits = find_stream_waits(*programs.table, programs.host, programs.gpu, kToleranceNs, {});
    for (size_t i = 0; i < waits.size(); ++i) {
      const GpuWork& waiting = programs.gpu.work[waits[i].waiting];
      const GpuWork& source = programs.gpu.work[waits[i].source];
      RC_ASSERT(source.end_ns <= waiting.start_ns + kToleranceNs);
      RC_ASSERT(source.stream != waiting.stream);
      if (i == 0) continue;
      RC_ASSERT(std::pair(waits[i - 1].waiting, waits[i - 1].source) < std::pair(waits[i].waiting, waits[i].source));
      if (waits[i - 1].waiting == waits[i].waiting) {
        RC_ASSERT(programs.gpu.work[waits[i - 1].source].stream != source.stream);
      }
    }
  }));
}

}  // namespace
}  // namespace lumos

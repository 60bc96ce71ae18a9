#include <gtest/gtest.h>

#include <random>

#include "lumos/graph/host/host_waits.h"
#include "lumos/graph/test_table.h"

namespace lumos {
namespace {

// "waiting operator or -, resumed by operator" of every hand-off.
std::vector<std::string> hand_offs_of(const TestPrograms& p) {
  const auto name = [&](uint32_t segment) {
    const uint32_t row = p.host.segments[segment].row;
    return row == kNoIndex ? std::string("-") : std::string(p.table->name_of(row));
  };
  std::vector<std::string> out;
  for (const HandOff& h : find_hand_offs(*p.table, p.host)) {
    EXPECT_NE(p.host.segments[h.segment].thread, p.host.segments[h.source].thread);
    EXPECT_EQ(h.latency_ns, p.host.segments[h.segment].end_ns - p.host.segments[h.source].end_ns);
    out.push_back(name(h.segment) + " after " + name(h.source));
  }
  return out;
}

// Main computes the loss, autograd the backward pass, main the update: each begins when the other is done, `late_ns`
// after it, and does nothing meanwhile.
TestPrograms training(int steps, int64_t late_ns) {
  TestTable t;
  const uint32_t main = t.thread(1), autograd = t.thread(2);
  int64_t now = 1000;
  for (int i = 0; i < steps; ++i) {
    t.op(main, "forward", now, 300'000 + 7000 * (i % 3));
    now += 300'000 + 7000 * (i % 3) + late_ns;
    t.op(autograd, "backward", now, 500'000 - 9000 * (i % 4));
    now += 500'000 - 9000 * (i % 4) + late_ns;
  }
  t.op(main, "end", now, 1000);
  return TestPrograms(t);
}

TEST(HandOffs, AutogradAndMainWaitForEachOther) {
  const std::vector<std::string> found = hand_offs_of(training(4, 10'000));
  ASSERT_EQ(found.size(), 8u);  // main waits four times; autograd three times between, and once at the beginning
  int on_forward = 0, on_backward = 0;
  for (const std::string& f : found) {
    on_forward += f == "- after forward";
    on_backward += f == "- after backward";
  }
  EXPECT_EQ(on_forward, 4);
  EXPECT_EQ(on_backward, 4);
}

TEST(HandOffs, ALaterWakeUpIsBelievedAsLongAsTheWaitIsLonger) {
  EXPECT_EQ(hand_offs_of(training(4, 30'000)).size(), 8u);
  EXPECT_TRUE(hand_offs_of(training(4, 400'000)).empty());
}

// What is the same program on a machine 1000 times slower or faster: no absolute threshold.
TEST(HandOffs, TheScaleOfTimeDoesNotMatter) {
  for (int64_t scale : {1, 1000}) {
    TestTable t;
    const uint32_t a = t.thread(1), b = t.thread(2);
    int64_t now = 0;
    for (int i = 0; i < 4; ++i) {
      t.op(a, "a", now, 200 * scale);
      now += 204 * scale;
      t.op(b, "b", now, 300 * scale);
      now += 304 * scale;
    }
    t.op(a, "a", now, 200 * scale);
    EXPECT_EQ(hand_offs_of(TestPrograms(t)).size(), 8u) << scale;
  }
}

// A loader works when it likes: its ends have nothing to do with those of the main thread's idle times.
TEST(HandOffs, ALoaderThatWorksOnItsOwnIsNotBelieved) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int64_t> length(20'000, 200'000);
  TestTable t;
  const uint32_t main = t.thread(1), loader = t.thread(2);
  for (int64_t now = 0; now < 20'000'000;) {
    const int64_t work = length(random);
    t.op(main, "step", now, work);
    now += work + length(random);
  }
  for (int64_t now = 5000; now < 20'000'000;) {
    const int64_t work = length(random);
    t.op(loader, "load", now, work);
    now += work + length(random);
  }
  EXPECT_TRUE(hand_offs_of(TestPrograms(t)).empty());
}

TEST(HandOffs, TimeInsideARuntimeCallIsNotWaitingForAThread) {
  TestTable t;
  const uint32_t main = t.thread(1), autograd = t.thread(2);
  int64_t now = 1000;
  for (int i = 0; i < 4; ++i) {
    t.op(main, "forward", now, 100'000);
    t.call(main, "cudaStreamSynchronize", now + 100'000, 305'000);  // ends just after autograd's work by chance
    t.op(autograd, "backward", now + 110'000, 290'000);
    now += 405'000;
  }
  for (const std::string& f : hand_offs_of(TestPrograms(t))) EXPECT_EQ(f.rfind("cuda", 0), std::string::npos) << f;
}

// Pairs of threads grow with the square of their number; neither time nor memory may.
TEST(HandOffs, TwoThreadsFindEachOtherAmongThousands) {
  constexpr int kOthers = 20'000;
  std::mt19937 random(11);
  std::uniform_int_distribution<int64_t> length(1000, 90'000), start(0, 3'000'000);
  TestTable t;
  const uint32_t main = t.thread(1), autograd = t.thread(2);
  int64_t now = 1000;
  for (int i = 0; i < 4; ++i) {
    t.op(main, "forward", now, 300'000 + 7000 * (i % 3));
    now += 300'000 + 7000 * (i % 3) + 1000;
    t.op(autograd, "backward", now, 500'000 - 9000 * (i % 4));
    now += 500'000 - 9000 * (i % 4) + 1000;
  }
  t.op(main, "end", now, 1000);
  for (int i = 0; i < kOthers; ++i) t.op(t.thread(10 + i), "other", start(random), length(random));
  int between = 0;
  for (const std::string& f : hand_offs_of(TestPrograms(t))) {
    between += f == "- after forward" || f == "- after backward";
  }
  EXPECT_GE(between, 6);
}

// What more threads than are compared in pairs do to each other is found as among few.
TEST(HandOffs, APairIsFoundWhateverTheNumberOfThreads) {
  for (int others : {0, 10, 31, 32, 100, 500}) {
    TestTable t;
    const uint32_t a = t.thread(1), b = t.thread(2);
    int64_t now = 1000;
    for (int i = 0; i < 6; ++i) {
      t.op(a, "a", now, 200'000);
      now += 204'000;
      t.op(b, "b", now, 300'000);
      now += 304'000;
    }
    t.op(a, "end", now, 1000);
    for (int i = 0; i < others; ++i) t.op(t.thread(10 + i), "idle before and after", 50'000 + 100 * i, 2000);
    int between = 0;
    for (const std::string& f : hand_offs_of(TestPrograms(t))) between += f == "- after a" || f == "- after b";
    EXPECT_EQ(between, 12) << others << " others";
  }
}

// Ranks in one file wait for each other in collectives only, whatever their threads seem to do.
TEST(HandOffs, RanksDoNotHandOver) {
  for (bool launches : {false, true}) {
    TestTable t;
    const uint32_t a = t.thread(1, 100), b = t.thread(2, 200);
    int64_t now = 1000;
    for (int i = 0; i < 6; ++i, now += 100'000) {
      t.op(i % 2 ? a : b, "work", now, 98'000);
      if (launches) t.call(i % 2 ? a : b, "cudaLaunchKernel", now + 1000, 500);
    }
    EXPECT_EQ(hand_offs_of(TestPrograms(t)).empty(), launches);
  }
}

// Another rank's threads in the file, however many of them fall idle just then, take no partner's place.
TEST(HandOffs, OtherRanksInTheFileHideNoPartner) {
  for (int others : {0, 10, 31, 32, 100, 300}) {
    TestTable t;
    const uint32_t a = t.thread(1, 100), b = t.thread(2, 100);
    t.call(a, "cudaLaunchKernel", 0, 500);
    int64_t now = 1000;
    for (int i = 0; i < 6; ++i) {
      t.op(a, "a", now, 200'000);
      now += 204'000;
      t.op(b, "b", now, 300'000);
      now += 304'000;
    }
    t.op(a, "end", now, 1000);
    for (int o = 0; o < others; ++o) {
      const uint32_t other = t.thread(10 + o, 200 + o);
      t.call(other, "cudaLaunchKernel", 0, 500);
      // Each falls idle within the latency of every wait, nearer to its end than the partner does.
      int64_t at = 1000;
      for (int i = 0; i < 6; ++i) {
        t.op(other, "other", at + 100'000, 101'000 + 5 * o);
        at += 204'000;
        t.op(other, "other", at + 100'000, 201'000 + 5 * o);
        at += 304'000;
      }
    }
    int between = 0;
    for (const std::string& f : hand_offs_of(TestPrograms(t))) between += f == "- after a" || f == "- after b";
    EXPECT_EQ(between, 12) << others << " others";
  }
}

TEST(HandOffs, OneThreadHasNone) {
  TestTable t;
  const uint32_t main = t.thread();
  t.op(main, "a", 0, 10);
  t.op(main, "b", 1000, 10);
  EXPECT_TRUE(hand_offs_of(TestPrograms(t)).empty());
}

}  // namespace
}  // namespace lumos

#include "lumos/report/results/diff.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

std::vector<RowTemplate> no_templates(const EventTable& table) {
  return std::vector<RowTemplate>(table.size(), RowTemplate::kNotPlaced);
}

int64_t total_ns(const std::vector<OwnedTime>& times) {
  int64_t sum = 0;
  for (const OwnedTime& time : times) sum += time.time_ns;
  return sum;
}

TEST(Attribution, ComputeOwnsBeforeCommunicationBeforeHost) {
  TestGraph g(1, 2);
  g.row(EventKind::kCpuOp, "ProfilerStep#1", 0, 0, 1000);  // as the 2021 schema has it
  g.row(EventKind::kCpuOp, "outer", 0, 0, 300);
  g.row(EventKind::kCpuOp, "inner", 0, 50, 10);
  g.row(EventKind::kKernel, "void sgemm<float>(int)", 1, 200, 300);
  g.row(EventKind::kKernel, "ncclDevKernel_AllReduce(x)", 2, 400, 300);
  g.finish({});
  const auto times = attribute_time(g.table(), no_templates(g.table()), {{0, 1000}});
  ASSERT_EQ(times.size(), 4u);
  EXPECT_EQ(times[0].label, "GEMM");
  EXPECT_EQ(times[0].name, "sgemm");
  EXPECT_EQ(times[0].time_ns, 300);
  EXPECT_EQ(times[1].label, "ncclDevKernel_AllReduce");
  EXPECT_EQ(times[1].time_ns, 200);
  EXPECT_EQ(times[2].label, "outer");  // until the kernel starts
  EXPECT_EQ(times[2].time_ns, 200);
  EXPECT_EQ(times[3].owner, Owner::kIdle);
  EXPECT_EQ(times[3].time_ns, 300);
}

TEST(Attribution, SumsToTheWindowsWhateverTheRows) {
  EXPECT_TRUE(rc::check([] {
    TestGraph g(2, 2);
    constexpr EventKind kKinds[] = {EventKind::kCpuOp, EventKind::kRuntime, EventKind::kKernel};
    for (int i = *rc::gen::inRange(0, 25); i > 0; --i) {
      const EventKind kind = kKinds[*rc::gen::inRange(0, 3)];
      const auto lane = static_cast<uint32_t>(*rc::gen::inRange(0, 2)) + (is_gpu_work(kind) ? 2 : 0);
      g.row(kind, *rc::gen::element<std::string>("a", "cudaLaunchKernel", "ncclKernel_x"), lane,
            *rc::gen::inRange(0, 90), *rc::gen::inRange(0, 40));
    }
    g.finish({});
    RC_ASSERT(total_ns(attribute_time(g.table(), no_templates(g.table()), {{0, 40}, {50, 77}})) == 67);
  }));
}

TEST(Diff, SumsToTheDifferenceOfTheSteps) {
  TestGraph a(1, 1);
  a.row(EventKind::kKernel, "sgemm_old", 1, 0, 600'000);
  a.finish({});
  TestGraph b(1, 1);
  b.row(EventKind::kKernel, "sgemm_new", 1, 0, 200'000);
  b.row(EventKind::kCpuOp, "DataLoader", 0, 200'000, 700'000);
  b.finish({});
  const Diff result = diff({"a", {{&a.table(), {{0, 1'000'000}}}}}, {"b", {{&b.table(), {{0, 1'200'000}}}}});
  EXPECT_DOUBLE_EQ(result.b_ms - result.a_ms, 0.2);
  for (const auto& lines : {result.by_label, result.by_name, result.by_template, result.by_place}) {
    double sum = 0;
    for (const DiffLine& line : lines) sum += line.difference_ms();
    EXPECT_NEAR(sum, 0.2, 1e-12);
  }
  EXPECT_EQ(result.by_label[0].label, "DataLoader");
  EXPECT_EQ(result.by_label[1].label, "GEMM");
  EXPECT_DOUBLE_EQ(result.by_label[1].difference_ms(), -0.4);
  EXPECT_EQ(result.by_name.size(), 4u);
  EXPECT_EQ(result.by_place[0].label, "main thread");
  EXPECT_EQ(result.by_place[1].label, "main stream");
  EXPECT_DOUBLE_EQ(result.by_place[1].difference_ms(), -0.4);
  EXPECT_NE(diff_text(result, 2).find("host: DataLoader"), std::string::npos) << diff_text(result, 2);
  EXPECT_NE(diff_json(result).find(R"("difference_ms":0.2)"), std::string::npos);
}

TEST(Diff, RanksCountAlikeWhateverTheirSteps) {
  TestGraph one(1, 1);
  one.row(EventKind::kKernel, "sgemm", 1, 0, 300'000);
  one.finish({});
  TestGraph two(1, 1);
  two.row(EventKind::kKernel, "sgemm", 1, 0, 100'000);
  two.finish({});
  const DiffSide job = {"job", {{&one.table(), {{0, 300'000}}}, {&two.table(), {{0, 100'000}, {0, 100'000}}}}};
  const Diff result = diff({"nothing", {}}, job);
  EXPECT_DOUBLE_EQ(result.b_ms, 0.2);
  ASSERT_EQ(result.by_label.size(), 1u);
  EXPECT_DOUBLE_EQ(result.by_label[0].b_ms, 0.2);
}

TEST(Diff, OfNothingIsNothing) {
  const Diff result = diff({"a", {}}, {"b", {{nullptr, {}}}});
  EXPECT_TRUE(result.by_label.empty());
  EXPECT_EQ(result.b_ms, 0);
}

}  // namespace
}  // namespace lumos

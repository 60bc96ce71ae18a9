#include "lumos/whatif/edit/scale.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "lumos/graph/test_job.h"
#include "lumos/sim/simulate.h"

namespace lumos {
namespace {

int64_t last_end(const ExecGraph& graph) {
  const Timeline timeline = simulate(graph);
  return timeline.end_ns.empty() ? 0 : *std::max_element(timeline.end_ns.begin(), timeline.end_ns.end());
}

ExecGraph scaled(const LinkedJob& job, const std::string& text) {
  const auto scale = parse_scale(text);
  EXPECT_TRUE(scale.has_value());
  auto graph = scale_graph(job, {*scale});
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  return std::move(graph->graph);
}

TEST(Scale, SelectorsAreReadAndWrongOnesExplained) {
  const auto kernel = parse_scale("kernel:a=b.*=0.5");
  ASSERT_TRUE(kernel.has_value());
  EXPECT_EQ(kernel->target, ScaleTarget::kKernel);
  EXPECT_EQ(kernel->pattern, "a=b.*");
  EXPECT_EQ(kernel->factor, 0.5);
  EXPECT_EQ(parse_scale("host=2")->target, ScaleTarget::kHost);
  for (const char* wrong : {"host", "host=", "host=fast", "host=-1", "host=nan", "gpu=2", "kernel:(=2", "rank:x=1"}) {
    const auto scale = parse_scale(wrong);
    ASSERT_FALSE(scale.has_value()) << wrong;
    EXPECT_EQ(scale.error().kind, ErrorKind::kUsage);
  }
}

TEST(Scale, ARankIsANumberThatFitsOrAnError) {
  EXPECT_EQ(parse_scale("rank:0=2")->rank, 0);
  EXPECT_EQ(parse_scale("rank:2147483647=2")->rank, 2147483647);
  // Of these none may come round to a rank that exists.
  for (const char* wrong : {"2147483648", "4294967296", "4294967297", "18446744073709551616", "99999999999999999999",
                            "-1", "+1", "", " 1", "1 ", "1.0", "0x1"}) {
    const auto scale = parse_scale(fmt::format("rank:{}=2", wrong));
    ASSERT_FALSE(scale.has_value()) << wrong;
    EXPECT_EQ(scale.error().kind, ErrorKind::kUsage);
  }
}

TEST(Scale, WhatMatchesNothingIsAnError) {
  const LinkedJob job = link_job(make_test_job({}).tables, {});
  for (const char* text : {"kernel:nothing=2", "comm:broadcast=2", "rank:77=2", "op:none=2"}) {
    const auto graph = scale_graph(job, {*parse_scale(text)});
    ASSERT_FALSE(graph.has_value()) << text;
    EXPECT_EQ(graph.error().kind, ErrorKind::kUsage);
  }
}

TEST(Scale, MatchesAreCountedByFullName) {
  TestJobShape shape;
  const LinkedJob job = link_job(make_test_job(shape).tables, {});
  const auto graph = scale_graph(job, {*parse_scale("kernel:gemm=0.5"), *parse_scale("group:pair0=0.5")});
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(graph->matches[0].tasks, uint64_t(shape.ranks * shape.rounds));
  EXPECT_EQ(graph->matches[1].tasks, uint64_t(2 * shape.rounds));
  EXPECT_FALSE(scale_graph(job, {*parse_scale("kernel:gem=0.5")}).has_value());
}

RC_GTEST_PROP(Scale, FactorOneChangesNothingAndFasterIsNeverSlower, ()) {
  TestJobShape shape;
  shape.ranks = 2 * *rc::gen::inRange(1, 3);
  shape.rounds = *rc::gen::inRange(3, 12);
  shape.seed = *rc::gen::arbitrary<uint32_t>();
  const LinkedJob job = link_job(make_test_job(shape).tables, {});
  const std::string selector =
      *rc::gen::element<std::string>("comm:.*", "kernel:gemm", "host", "rank:1", "group:world");
  RC_ASSERT(scaled(job, selector + "=1").duration_ns == job.linked.graph.duration_ns);
  const int64_t base = last_end(job.linked.graph);
  const int64_t half = last_end(scaled(job, selector + "=0.5"));
  const int64_t free = last_end(scaled(job, selector + "=0"));
  RC_ASSERT(half <= base);
  RC_ASSERT(free <= half);
}

}  // namespace
}  // namespace lumos

#include "lumos/trace/sets/ignore.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(Ignore, ReadsTheWordsItKnows) {
  const auto both = parse_ignored("shapes,annotations");
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->shapes);
  EXPECT_TRUE(both->annotations);
  EXPECT_FALSE(both->collectives);
  EXPECT_TRUE(parse_ignored(""));
  EXPECT_EQ(parse_ignored("names").error().kind, ErrorKind::kUsage);
}

TEST(Ignore, TakesOutWhatIsNamedAndNothingElse) {
  auto names = std::make_shared<NamePool>();
  EventTable table;
  table.lanes.resize(1);
  for (EventKind kind : {EventKind::kAnnotation, EventKind::kCpuOp, EventKind::kKernel}) {
    table.ts_ns.push_back(0);
    table.dur_ns.push_back(1);
    table.name.push_back(names->intern("row"));
    table.lane.push_back(0);
    table.kind.push_back(kind);
    table.correlation.push_back(-1);
    table.external_id.push_back(0);
    table.detail.push_back(kind == EventKind::kAnnotation ? kNoIndex : 0);
  }
  table.ops.emplace_back();
  table.ops[0].input_dims = names->intern("[[2, 3]]");
  table.ops[0].sequence = 7;
  table.gpu.emplace_back();
  table.gpu[0].collective = 0;
  table.collectives.emplace_back();
  table.names = names;

  ignore_metadata(table, {true, false, false});
  EXPECT_EQ(table.ops[0].input_dims, kNoName);
  EXPECT_EQ(table.ops[0].sequence, 7);
  EXPECT_NE(table.collective_detail(2), nullptr);
  ignore_metadata(table, {false, true, true});
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.collective_detail(1), nullptr);
}

}  // namespace
}  // namespace lumos

#include "lumos/trace/table/nesting.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

struct Row {
  EventKind kind;
  uint32_t lane;
  int64_t ts_ns;
  int64_t dur_ns;
};

/// Lane 0 and 1 are threads, lane 2 a stream.
EventTable table_of(const std::vector<Row>& rows) {
  EventTable table;
  table.lanes.resize(3);
  table.lanes[2].is_gpu = true;
  for (const Row& row : rows) {
    table.kind.push_back(row.kind);
    table.lane.push_back(row.lane);
    table.ts_ns.push_back(row.ts_ns);
    table.dur_ns.push_back(row.dur_ns);
  }
  return table;
}

TEST(Nesting, InnermostEnclosingRowIsTheParent) {
  const EventTable table = table_of({{EventKind::kCpuOp, 0, 20, 5},  // inner, first in the file
                                     {EventKind::kCpuOp, 0, 0, 100},
                                     {EventKind::kCpuOp, 0, 10, 40},
                                     {EventKind::kCpuOp, 0, 60, 10},
                                     {EventKind::kCpuOp, 1, 20, 5}});
  EXPECT_EQ(nesting(table).parent, (std::vector<uint32_t>{2, kNoIndex, 1, 1, kNoIndex}));
}

TEST(Nesting, AChildMayEndLateByRounding) {
  const EventTable table = table_of({{EventKind::kCpuOp, 0, 0, 10}, {EventKind::kCpuOp, 0, 5, 6}});
  EXPECT_EQ(nesting(table).parent[1], 0u);
}

TEST(Nesting, EqualRowsNestInFileOrderAndTouchingRowsDoNotNest) {
  const EventTable table =
      table_of({{EventKind::kCpuOp, 0, 0, 10}, {EventKind::kCpuOp, 0, 0, 10}, {EventKind::kCpuOp, 0, 10, 3}});
  EXPECT_EQ(nesting(table).parent, (std::vector<uint32_t>{kNoIndex, 0, kNoIndex}));
}

TEST(Nesting, KernelsNeverEncloseButGpuAnnotationsDo) {
  const EventTable table = table_of({{EventKind::kGpuAnnotation, 2, 0, 100},
                                     {EventKind::kKernel, 2, 10, 50},
                                     {EventKind::kKernel, 2, 20, 10},
                                     {EventKind::kKernel, 2, 100, 10}});
  EXPECT_EQ(nesting(table).parent, (std::vector<uint32_t>{kNoIndex, 0, 0, kNoIndex}));
}

}  // namespace
}  // namespace lumos

#include "lumos/trace/table/table_rows.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(RowsWithin, KeepsWhatOverlapsTheWindow) {
  EventTable table;
  table.ts_ns = {0, 5, 10, 12, 20, 20};
  table.dur_ns = {5, 10, 0, 3, 0, 9};
  const size_t count = table.ts_ns.size();
  for (uint32_t i = 0; i < count; ++i) table.correlation.push_back(i);
  table.name.resize(count);
  table.lane.resize(count);
  table.kind.resize(count);
  table.external_id.resize(count);
  table.detail.resize(count);
  table.fwdbwd = {{1, 9, 0, true}, {2, 10, 0, true}, {3, 20, 0, false}};
  const EventTable part = rows_within(table, 10, 20);
  EXPECT_EQ(part.correlation, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(part.ts_ns, (std::vector<int64_t>{5, 10, 12}));
  ASSERT_EQ(part.fwdbwd.size(), 1u);
  EXPECT_EQ(part.fwdbwd[0].id, 2);
  EXPECT_EQ(rows_within(table, 40, 50).size(), 0u);
}

}  // namespace
}  // namespace lumos

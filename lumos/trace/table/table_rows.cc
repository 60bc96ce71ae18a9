#include "lumos/trace/table/table_rows.h"

#include <algorithm>

namespace lumos {

namespace {

template <class T>
void keep(std::vector<T>& column, const std::vector<uint32_t>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) column[i] = column[rows[i]];
  column.resize(rows.size());
}

}  // namespace

void keep_rows(EventTable& table, const std::vector<uint32_t>& rows) {
  keep(table.ts_ns, rows);
  keep(table.dur_ns, rows);
  keep(table.name, rows);
  keep(table.lane, rows);
  keep(table.kind, rows);
  keep(table.correlation, rows);
  keep(table.external_id, rows);
  keep(table.detail, rows);
}

EventTable rows_within(const EventTable& table, int64_t start_ns, int64_t end_ns) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < table.size(); ++row) {
    // An instant at the start belongs to the window, one at the end does not.
    const bool reaches_in = table.end_ns(row) > start_ns || table.ts_ns[row] == start_ns;
    if (reaches_in && table.ts_ns[row] < end_ns) rows.push_back(row);
  }
  EventTable result = table;
  keep_rows(result, rows);
  std::erase_if(result.fwdbwd, [&](const FlowEnd& flow) { return flow.ts_ns < start_ns || flow.ts_ns >= end_ns; });
  return result;
}

}  // namespace lumos

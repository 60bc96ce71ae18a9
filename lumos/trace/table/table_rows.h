// Parts of event tables: chosen rows, or a window of time. Used to write out steps, and by whoever drops rows.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// Keeps `rows` (row numbers in increasing order) of every column, in place. Details, lanes and flows stay as they are.
void keep_rows(EventTable& table, const std::vector<uint32_t>& rows);

/// The rows that overlap [start_ns, end_ns), whole, and the fwdbwd ends in it.
EventTable rows_within(const EventTable& table, int64_t start_ns, int64_t end_ns);

}  // namespace lumos

// Which launches gather, copy and reduce what is sharded, also where no operator of their own says so: by what stands
// around them on their thread. Read by program/recover.
#pragma once

#include <vector>

#include "lumos/trace/table/event_table.h"
#include "lumos/trace/words/unit_work.h"

namespace lumos {

struct Launch;

/// Completes what the names around the launches told of each: collectives by what precedes them on their thread, and
/// what runs on the streams beside the computing one. `launches` are in order.
void mark_unit_work(const EventTable& table, std::vector<Launch>& launches);

/// True for all that happens around the gathering of parameters; false for what follows a backward.
constexpr bool is_gathering(UnitWork work) { return work >= UnitWork::kCopyIn && work <= UnitWork::kCopyOut; }
constexpr bool is_reducing(UnitWork work) { return work >= UnitWork::kReduceIn; }

}  // namespace lumos

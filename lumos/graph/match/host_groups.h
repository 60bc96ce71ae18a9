// Which process group each CPU thread that communicates works for. gloo records no group with an operation, but gives
// every group threads of its own when it is made, and the trace lists the groups in that order. Made from the tables of
// all ranks; read by graph/match_collect.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// Per rank and lane, the index of its group in the rank's info.groups; kNoIndex: nothing tells.
using LaneGroups = std::vector<std::vector<uint32_t>>;

/// Empty unless all ranks list several groups and run one program: every group then has the same operations in the same
/// order on all its members, and these end together. Of all ways to give the threads, in the order of their ids, to the
/// groups that is one which fits better than any other by far. O(cuts x operations) for each
/// way, whose number is limited: where there are more, nothing tells.
LaneGroups groups_of_host_lanes(std::span<const EventTable* const> tables);

}  // namespace lumos

// A file into which somebody merged the traces of several ranks, back into one table per rank. Ranks are told apart by
// what merging leaves: process ids or names that say the rank ("rank 3", "[TP01] 4711"), else processes of which each
// launches on devices of its own. Made from what trace/kineto/reader read; read by read_traces.
#pragma once

#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// The ranks of a table, in order; the table as it is where it holds one, or where they cannot be told apart (devices
/// that several processes launch on). Numbers come from the names where each says another one, else they are left to
/// read_traces (-1), which counts on, in the order of devices. What was counted for the whole file stays with the rank
/// of its last event. O(n log n).
std::vector<EventTable> split_ranks(EventTable table);

}  // namespace lumos

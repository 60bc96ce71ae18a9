// A simulated run as an event table: the same rows with the times that the simulator gave them, so that breakdown,
// utilisation, comparison and trace writers exist once for measured and replayed runs. Read by report/ and the CLI.
#pragma once

#include <cstdint>

#include "lumos/graph/exec_graph.h"
#include "lumos/sim/timeline.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// Which rows to make. Breakdown and utilisation of a GPU trace need no others than kGpu, and nesting takes longest.
enum class ReplayedRows : uint8_t { kAll, kGpu };

/// The table of rank `rank_index` with simulated ts and dur (nanoseconds from the start of the simulation). A row spans
/// from the start of its first task to the end of its last one; a row that encloses others in the measured table spans
/// them too. Rows of which no task was simulated are dropped; the order of the others is kept. fwdbwd ends move with
/// the operator that they start in.
EventTable replayed_table(const ExecGraph& graph, const Timeline& timeline, uint32_t rank_index,
                          ReplayedRows rows = ReplayedRows::kAll);

}  // namespace lumos

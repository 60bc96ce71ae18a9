// What is drawn on top of a trace file: curves of utilisation and communication bandwidth, and the critical path as
// arrows. Made from tables and paths; handed to trace/chrome_writer.
#pragma once

#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/report/figures/critical_path.h"
#include "lumos/report/figures/steps.h"
#include "lumos/trace/table/counter_curve.h"
#include "lumos/trace/table/event_table.h"
#include "lumos/trace/write/chrome_writer.h"

namespace lumos {

/// "SM utilisation %" and "SMs filled %" per 1 ms of `window`, and "communication GB/s": the bytes of the collectives
/// that run at a time over their durations, where the trace tells sizes. Curves without points are left out.
std::vector<CounterCurve> counter_curves(const EventTable& table, Window window);

/// Marks the rows of rank `rank_index` whose tasks are on `path`, launches and waits among them, and leads from each to
/// the next where the path changes thread or stream. Times are those of `table`, the rank's measured table; `arrows`
/// and `critical` of `options` are replaced.
void add_critical_path(const ExecGraph& graph, uint32_t rank_index, const CriticalPath& path, ChromeOptions& options);

}  // namespace lumos

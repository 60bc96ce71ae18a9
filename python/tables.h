// The tables that Python sees: events, tasks, collectives and steps. Numbers are views of the columns that the job
// already has; docs/python.md has the columns. Made for python/module.
#pragma once

#include <memory>
#include <vector>

#include "lumos/graph/job/job.h"
#include "lumos/sim/timeline.h"
#include "python/column_table.h"

namespace lumos {

/// A simulated graph. The pointers keep what the views point into.
struct Replayed {
  std::shared_ptr<const ExecGraph> graph;
  std::shared_ptr<const Timeline> timeline;
};

/// The events of some ranks (indexes into the graph's), a batch per rank. ts_ns, dur_ns, correlation and external_id
/// are views. O(rows) for the names.
ColumnTable event_table(const ExecGraph& graph, const std::vector<uint32_t>& rank_indexes);

/// All tasks of all ranks, measured and replayed; times are views.
ColumnTable task_table(const Replayed& replayed);

/// The communication of all ranks, as `lumos export` has it.
ColumnTable collective_table(const Replayed& replayed);

/// The steps of all ranks, as `lumos export` has them.
ColumnTable step_table(const Replayed& replayed);

}  // namespace lumos

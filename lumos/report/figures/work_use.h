// What the GPUs of a job worked on in a step: compute by kernel family, communication by collective, both by template.
// Read off a measured, replayed or predicted run alike, so that a prediction can be held against the trace that is
// taken later. Read by predict and validate.
#pragma once

#include <string>
#include <vector>

#include "lumos/base/json_writer.h"
#include "lumos/graph/exec_graph.h"
#include "lumos/program/lower/lower.h"
#include "lumos/program/lower/plan.h"
#include "lumos/report/figures/row_template.h"
#include "lumos/report/figures/steps.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// Milliseconds per step, mean over the ranks.
struct WorkShare {
  std::string name;
  double ms = 0;       ///< at work: kernels, copies, transfers
  double wait_ms = 0;  ///< communication kernels that wait for other ranks, where ranks are linked

  double total_ms() const { return ms + wait_ms; }
};

struct WorkUse {
  std::vector<WorkShare> families;     ///< compute; longest first
  std::vector<WorkShare> collectives;  ///< "allreduce, group DATA_PARALLEL_GROUP"
  std::vector<WorkShare> templates;    ///< of all GPU work
};

/// What is known of the rows that tasks come from.
struct WorkSource {
  std::vector<const EventTable*> tables;
  std::vector<std::vector<RowTemplate>> templates;  ///< parallel to tables, one per row
};

/// Of a graph that was built from traces; with `job`, that its program is recovered with. The graph must outlive it.
WorkSource work_source(const ExecGraph& graph, const Job* job, int threads);
/// Of graphs that are lowered from `recovery`.
WorkSource work_source(const Recovery& recovery);

/// GPU tasks that start in their rank's chosen steps. `origins`: the rows that the tasks were lowered from, their rank
/// being an index into `source`.
WorkUse work_use(const ExecGraph& graph, const Timeline& timeline, const WorkSource& source,
                 const std::vector<TaskOrigin>& origins);
/// Of a graph that was built from traces, simulated or as measured.
WorkUse work_use(const ExecGraph& graph, const Timeline& timeline, const WorkSource& source);
WorkUse measured_work_use(const ExecGraph& graph, const WorkSource& source);

/// Mean over several runs of one job.
WorkUse mean_work(const std::vector<WorkUse>& runs);

/// {"families": [{"name", "ms", "wait_ms"}], "collectives": [...], "templates": [...]}
void write_work_use(JsonWriter& json, const WorkUse& use);

}  // namespace lumos

// Which operator stands behind a GPU task: the one that launched it, by the call that its launch edge comes from. Read
// by the changes that must know what a kernel worked on.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/trace/table/nesting.h"

namespace lumos {

/// For each task of a rank, from rank.first_task on, the row of the call that launched it; kNoIndex for CPU tasks and
/// where the launch is not in the trace.
std::vector<uint32_t> launching_rows(const ExecGraph& graph, const RankTasks& rank);

/// The first row from `row` outwards that `wanted` accepts, or kNoIndex.
template <class Wanted>
uint32_t first_around(const Nesting& nested, uint32_t row, Wanted wanted) {
  while (row != kNoIndex && !wanted(row)) row = nested.parent[row];
  return row;
}

}  // namespace lumos

// Puts the graphs of several ranks side by side in one, without dependencies between them: what a replay of ranks that
// nothing links simulates. Made from graph/rank/build; graph/job/link adds what ranks wait for.
#pragma once

#include <vector>

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// Tasks of rank i follow those of rank i - 1; ids inside the graphs move with them. O(tasks + edges).
ExecGraph join_ranks(std::vector<ExecGraph> graphs);

}  // namespace lumos

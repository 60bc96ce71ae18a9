// The measured run as a graph: every dependency is made to last as long as it was measured to. What `--residuals=keep`
// simulates, so that somebody can change a task and see the rest of the measured step move. Its error says nothing.
#pragma once

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// A copy whose simulation starts every task when it was measured to start, counted from its rank's first task. Lags
/// take up what the dependencies leave unexplained; they hold up to 2.1 s of it, beyond which a task starts early.
ExecGraph keep_residuals(const ExecGraph& graph);

}  // namespace lumos

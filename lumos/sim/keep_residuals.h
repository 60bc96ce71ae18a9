// The measured run as a graph: every dependency is made to last as long as it was measured to. What `--residuals=keep`
// simulates, so that somebody can change a task and see the rest of the measured step move. Its error says nothing.
#pragma once

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// A copy whose simulation starts every task when it was measured to start, counted from its rank's first task. Lags
/// take up what the dependencies leave unexplained, up to 1 s; a longer wait is counted from the last task of the rank
/// that ended before it. Where a rank did nothing at all for more than 2.1 s, the task after that starts early.
ExecGraph keep_residuals(const ExecGraph& graph);

}  // namespace lumos

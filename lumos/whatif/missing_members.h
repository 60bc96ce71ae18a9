// Waiting for ranks that are not traced, after a change. They are taken to do what the traced member of their group
// does, a little later: so their lateness follows the change too. Used by whatif/scale.
#pragma once

#include "lumos/graph/job.h"

namespace lumos {

/// Adjusts, in `changed` (the job's graph with other durations), the lags that stand for waiting for untraced members.
///
/// Lateness comes from compute, and scales with the compute of the traced rank. A member goes on at the end of the
/// transfer T or of the compute W that runs beside it, whichever is later. The late one counts both from its arrival,
/// the traced one, which came H earlier, from its own. So when T becomes T', the next wait of the group grows by
/// (max(T', W) - max(T, W)) - (max(H + T', W) - max(H + T, W)).
void follow_missing_members(const LinkedJob& job, ExecGraph& changed);

}  // namespace lumos

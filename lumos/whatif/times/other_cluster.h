// `--cluster FILE`: the same job on another GPU or network. Each kernel takes what it took, times the ratio of what its
// model says for both machines. Made for whatif/change.
#pragma once

#include "lumos/base/result.h"
#include "lumos/graph/job/job.h"
#include "lumos/model/cluster/cluster.h"
#include "lumos/whatif/times/retiming.h"

namespace lumos {

/// Products and fused attention by their shapes where recorded, else by the matrix peak; the rest by the memory's
/// bandwidth above what an empty kernel takes. `from` is the traced machine; without it the GPU is known by the
/// device's name, and transfers stay. Launches and the host stay. Errors: kUsage where the traced GPU is not known.
Result<Retiming> on_other_cluster(const LinkedJob& job, const Cluster* from, const Cluster& to);

}  // namespace lumos

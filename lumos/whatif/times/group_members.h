// Who takes part in a kernel of communication, as far as the traces tell, and so which nodes it spans. Ranks fill nodes
// in order. Read by changes of links and of the whole machine.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/job/job.h"
#include "lumos/model/kernels/collective.h"

namespace lumos {

/// What the traces tell of the members of a kernel's group: all, or the first of a list that was cut.
std::vector<int32_t> known_members(const LinkedJob& job, const CommKernel& kernel);

/// The kernel's group on nodes of `gpus_per_node`. Where all members are known they are counted; of a list that was cut
/// the distance of the first two stands for that of all. A message has two ends.
GroupShape transfer_shape(const LinkedJob& job, const CommKernel& kernel, int64_t gpus_per_node);

}  // namespace lumos

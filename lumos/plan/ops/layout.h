// Where the ranks of a job sit: its meshes from its sizes and its order of ranks. Read by plans and by whoever relates
// traced ranks to the job.
#pragma once

#include "lumos/model/job/job.h"
#include "lumos/parallel/mesh.h"

namespace lumos {

/// Members along a dimension that the job says.
int64_t dimension_size(const Job& job, Dimension dimension);

/// On nodes of `gpus_per_node` consecutive ranks.
Layout layout_of(const Job& job, int64_t gpus_per_node);

/// The dense mesh on the job's own nodes.
Mesh mesh_of(const Job& job);

Position position_of(const Job& job, int64_t rank);

/// Stage `virtual_stage` of one pipeline and the next: after the last one comes the first again.
GroupShape stage_border(const Mesh& mesh, int64_t virtual_stage);

}  // namespace lumos

// A GPU as the traced kernels show it: constants of the GEMM model that reproduce them, and the time of the shortest
// kernel. Only ratios of its times are used. Made once per rank by recovery; read by program/retime.
#pragma once

#include <vector>

#include "lumos/model/gemm.h"
#include "lumos/model/job.h"
#include "lumos/program/kernel_roles.h"

namespace lumos {

/// `roles` are those of the rank's launches, `job` the traced one.
Gpu fit_kernels(const RankProgram& rank, const std::vector<RoleOf>& roles, const Job& job);

/// The product that a GEMM of a linear layer or of the head computes on one rank.
GemmShape gemm_shape(const Job& job, RoleOf role);

}  // namespace lumos

// GPUs as the traced kernels show them: constants of the GEMM model that reproduce them, and the time of the shortest
// kernel. Only ratios of their times are used. Made once by recovery; read by program/retime.
#pragma once

#include <vector>

#include "lumos/model/job/job.h"
#include "lumos/model/kernels/gemm.h"
#include "lumos/program/blocks/kernel_roles.h"

namespace lumos {

/// One per rank. What the model cannot say differs from kernel to kernel, so GPUs of one name share their constants:
/// otherwise stages, which run different kernels, would be told apart by that. `roles` are those of every rank's
/// launches, `job` the traced one.
std::vector<Gpu> fit_kernels(const std::vector<RankProgram>& ranks, const std::vector<std::vector<RoleOf>>& roles,
                             const Job& job, int threads);

/// The product that a GEMM of a linear layer or of the head computes on one rank.
GemmShape gemm_shape(const Job& job, RoleOf role);

}  // namespace lumos

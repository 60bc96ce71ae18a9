// What the modules of a job look like in a trace, by the job's own choices. Read by program/synth; the names themselves
// are trace/words/written_names.
#pragma once

#include <string>
#include <string_view>

#include "lumos/model/job/job.h"
#include "lumos/trace/words/written_names.h"

namespace lumos {

/// The names of `role` of plan/layer_work.
OperatorNames operator_names(std::string_view role, const Job& job);

std::string gemm_kernel_name(const Job& job, GemmLayout layout, bool batched);

/// PyTorch's spelling of the type of activations and parameters.
std::string_view dtype_name(const Job& job);

}  // namespace lumos

// What the modules of a Megatron model look like in a trace: their operators and kernels. A table from the roles of
// plan/layer_work to names; read by program/synthesize.
#pragma once

#include <string>
#include <string_view>

#include "lumos/model/job/job.h"
#include "lumos/model/kernels/kernel_work.h"

namespace lumos {

/// Static text.
struct OperatorNames {
  std::string_view forward;   ///< operator, or the forward of an autograd function
  std::string_view backward;  ///< its autograd node
  std::string_view forward_kernel;
  std::string_view backward_kernel;
  std::string_view forward_launcher = "";  ///< the operator within that launches the kernel; "": it does so itself
  std::string_view backward_launcher = "";
};

/// The names of `role`; those of any element-wise function where the table does not know it.
OperatorNames operator_names(std::string_view role, const Job& job);

/// Which product of a linear layer; decides the layout in a GEMM kernel's name.
enum class GemmLayout : uint8_t { kForward, kInputGradient, kWeightGradient };

std::string gemm_kernel_name(const Job& job, GemmLayout layout, bool batched);

/// Names of one kind of collective, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...)" and so on.
struct CollectiveNames {
  std::string_view operation;   ///< "c10d::allreduce_"
  std::string_view metadata;    ///< "allreduce"
  std::string_view annotation;  ///< "nccl:all_reduce"
  std::string kernel;
};

/// `dtype` in PyTorch's spelling: "BFloat16", "Half", "Float", "Long".
CollectiveNames collective_names(CollectiveKind kind, std::string_view dtype);

/// PyTorch's spelling of the type of activations and parameters.
std::string_view dtype_name(const Job& job);

}  // namespace lumos

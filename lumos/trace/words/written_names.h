// How what Lumos writes is named: the operators and kernels of a Megatron model's modules, of collectives, of what
// PyTorch does around them. The counterpart of operator_meaning and kernel_meaning, which read such names; used by
// synthesized traces and by work that a change adds.
#pragma once

#include <string>
#include <string_view>

#include "lumos/trace/words/collective_kind.h"
#include "lumos/trace/words/element_type.h"

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

/// The names of a module; those of any element-wise function where the table does not know it.
OperatorNames names_of_module(std::string_view module);

/// Which product of a linear layer; decides the layout in a GEMM kernel's name.
enum class GemmLayout : uint8_t { kForward, kInputGradient, kWeightGradient };

std::string gemm_kernel_name(ElementType type, GemmLayout layout, bool batched);

/// Names of one kind of collective.
struct CollectiveNames {
  std::string_view operation;   ///< of the dispatcher's operator
  std::string_view metadata;    ///< "Collective name"
  std::string_view annotation;  ///< around the launch
  std::string kernel;
};

/// `dtype` in PyTorch's spelling: "BFloat16", "Half", "Float", "Long".
CollectiveNames collective_names(CollectiveKind kind, std::string_view dtype);

/// A kernel that runs a collective, without its protocol and arguments.
std::string_view collective_kernel_name(CollectiveKind kind);

/// PyTorch's spelling of a type in the metadata of collectives; "" if unknown.
std::string_view dtype_name(ElementType type);

/// "ProfilerStep#4".
std::string step_name(int64_t number);

/// Rows that PyTorch writes.
namespace written {
inline constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";  ///< before a node's name
inline constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";
inline constexpr std::string_view kOptimizerStep = "Optimizer.step#FusedAdam.step";
inline constexpr std::string_view kRecordComms = "record_param_comms";
inline constexpr std::string_view kMm = "aten::mm";
inline constexpr std::string_view kBmm = "aten::bmm";
inline constexpr std::string_view kZero = "aten::zero_";
inline constexpr std::string_view kTo = "aten::to";
inline constexpr std::string_view kCopy = "aten::copy_";
inline constexpr std::string_view kItem = "aten::item";
inline constexpr std::string_view kLocalScalar = "aten::_local_scalar_dense";
inline constexpr std::string_view kSend = "c10d::send";
inline constexpr std::string_view kReceive = "c10d::recv_";
inline constexpr std::string_view kSendAnnotation = "nccl:send";
inline constexpr std::string_view kReceiveAnnotation = "nccl:recv";
inline constexpr std::string_view kCoalescedAnnotation = "nccl:coalesced";
}  // namespace written

}  // namespace lumos

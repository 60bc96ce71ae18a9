#include "lumos/program/recover/operator_names.h"

namespace lumos {
namespace {

ElementType type_of(const Job& job) {
  switch (job.params_dtype) {
    case ParamsType::kBf16:
      return ElementType::kBFloat16;
    case ParamsType::kFp16:
      return ElementType::kFloat16;
    case ParamsType::kFp32:
      break;
  }
  return ElementType::kFloat32;
}

}  // namespace

OperatorNames operator_names(std::string_view role, const Job& job) {
  if (role == "activation") return names_of_module(job.swiglu ? "swiglu" : "gelu");
  if (role.ends_with("layernorm"))
    return names_of_module(job.normalization == Normalization::kRmsNorm ? "rmsnorm" : "layernorm");
  return names_of_module(role);
}

std::string gemm_kernel_name(const Job& job, GemmLayout layout, bool batched) {
  return gemm_kernel_name(type_of(job), layout, batched);
}

std::string_view dtype_name(const Job& job) { return dtype_name(type_of(job)); }

}  // namespace lumos

#include "lumos/plan/optimizer.h"

#include <algorithm>
#include <cmath>

namespace lumos {
namespace {

/// Apex's multi-tensor kernels take up to 320 blocks of 65536 elements each.
constexpr double kParametersPerLaunch = 320 * 65536.0;

}  // namespace

double gradient_bytes(const Job& job) { return job.grad_reduce_in_fp32 ? 4 : static_cast<double>(element_bytes(job)); }

double optimizer_bytes_per_parameter(const Job& job, const Plan& plan) {
  const double gradient = plan.bytes(NumberType::kGradient), model = plan.bytes(NumberType::kModel);
  const double master = plan.bytes(NumberType::kMaster);
  double bytes = 0;
  if (gradient < master) bytes += gradient + master;                    // copy to fp32
  if (job.params_dtype == ParamsType::kFp16) bytes += master + master;  // undo the loss scale, look for overflow
  if (job.clip_grad > 0) bytes += 3 * master;                           // norm, then clip
  bytes += job.optimizer == Optimizer::kAdam ? (4 + 3) * master : (2 + 1) * master;
  if (model < master) bytes += master + model;  // copy to the model's parameters
  return bytes;
}

std::vector<KernelWork> optimizer_work(const Job& job, const Plan& plan, double parameters) {
  const double share = parameters / plan.resident.optimizer;
  const int64_t launches = static_cast<int64_t>(std::ceil(share / kParametersPerLaunch));
  return {{"optimizer", ElementwiseWork{share * optimizer_bytes_per_parameter(job, plan)},
           std::max<int64_t>(launches, 1) * 5},
          {"zero_grad", ElementwiseWork{parameters / plan.resident.gradients * plan.bytes(NumberType::kGradient)}}};
}

KernelWork exchange_work(const Plan& plan, const ParameterExchange& exchange, double parameters) {
  return {exchange.role,
          Collective{exchange.kind, parameters * plan.bytes(exchange.type), plan.layout.dense.shape(exchange.along)}, 1,
          exchange.when == ExchangeMoment::kBesideBackward || exchange.when == ExchangeMoment::kBesideForward,
          exchange.along};
}

}  // namespace lumos

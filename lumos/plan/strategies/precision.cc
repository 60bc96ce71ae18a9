// How many bytes each number takes: parameters and activations in the model's type, gradients in it or in fp32, the
// optimizer in fp32.
#include "lumos/plan/strategies/strategy.h"

namespace lumos {
namespace {

void step(const Job& job, Plan& plan) {
  const auto set = [&](NumberType type, double bytes) { plan.type_bytes[static_cast<size_t>(type)] = bytes; };
  const double model = static_cast<double>(element_bytes(job));
  set(NumberType::kModel, model);
  set(NumberType::kGradient, job.grad_reduce_in_fp32 ? 4 : model);
  set(NumberType::kMaster, 4);
  set(NumberType::kFp32, 4);
  set(NumberType::kByte, 1);
  set(NumberType::kToken, 8);
}

}  // namespace

Strategy precision_strategy() { return {.name = "precision", .step = step}; }

}  // namespace lumos

// Megatron's distributed optimizer (ZeRO's first stage, Rajbhandari et al. 2020): each replica updates a share of the
// parameters. Sums of gradients end scattered, the updated parameters are gathered, and norms are agreed on by all.
#include "lumos/plan/strategies/strategy.h"

namespace lumos {
namespace {

void step(const Job& job, Plan& plan) {
  if (!job.use_distributed_optimizer) return;
  plan.reduction.kind = CollectiveKind::kReduceScatter;
  plan.gathers.push_back({"parameter_gather", CollectiveKind::kAllGather, plan.reduction.along, NumberType::kModel,
                          job.overlap_param_gather ? ExchangeMoment::kBesideForward : ExchangeMoment::kAfterUpdate});
  plan.agreement = plan.layout.dense.all();
}

void resident(const Job& job, Plan& plan) {
  if (job.use_distributed_optimizer) plan.resident.optimizer *= static_cast<double>(job.data_parallel_size);
}

std::vector<Sign> seen_as() {
  return {{"use_distributed_optimizer", "true", Dimension::kData, CollectiveKind::kReduceScatter, false,
           "which reduce and scatter gradients over replicas"},
          {"use_distributed_optimizer", "false", Dimension::kData, CollectiveKind::kAllReduce, true,
           "which all-reduce gradients over replicas"}};
}

}  // namespace

Strategy distributed_optimizer_strategy() {
  return {.name = "distributed optimizer", .step = step, .resident = resident, .seen_as = seen_as};
}

}  // namespace lumos

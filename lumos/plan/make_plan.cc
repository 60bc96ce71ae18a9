#include "lumos/plan/make_plan.h"

#include "lumos/plan/ops/layer.h"
#include "lumos/plan/ops/layout.h"
#include "lumos/plan/strategies/strategy.h"

namespace lumos {
namespace {

void add_model(const Job& job, Plan& plan) {
  plan.layer = layer_ops(job);
  plan.embedding = embedding_ops(job);
  plan.head = head_ops(job);
}

}  // namespace

Plan plan_of(const Job& job, int64_t gpus_per_node) {
  Plan plan;
  plan.layout = layout_of(job, gpus_per_node);
  plan.sizes = PlanSizes(job, plan.layout.dense);
  add_model(job, plan);
  for (const Strategy& strategy : strategies()) {
    if (strategy.shard != nullptr) strategy.shard(job, plan);
    if (strategy.step != nullptr) strategy.step(job, plan);
    if (strategy.resident != nullptr) strategy.resident(job, plan);
  }
  return plan;
}

Plan plan_of_weights(const Job& job) {
  Plan plan;
  plan.layout = layout_of(job, job.gpus_per_node);
  plan.sizes = PlanSizes(job, plan.layout.dense);
  add_model(job, plan);
  for (ModelPart* part : {&plan.layer, &plan.embedding, &plan.head}) part->backward.clear();
  for (const Strategy& strategy : strategies())
    if (strategy.shard != nullptr) strategy.shard(job, plan);
  return plan;
}

Plan unsharded_plan(const Job& job) {
  Plan plan;
  plan.sizes = PlanSizes(job, Mesh());
  add_model(job, plan);
  precision_strategy().step(job, plan);
  return plan;
}

Status check_plan(const Job& job) {
  for (const Strategy& strategy : strategies())
    if (strategy.check != nullptr) TRY_STATUS(strategy.check(job));
  return {};
}

}  // namespace lumos

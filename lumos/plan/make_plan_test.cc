#include "lumos/plan/make_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "lumos/model/job/test_jobs.h"
#include "lumos/plan/layer_work.h"

namespace lumos {
namespace {

int64_t collectives(const std::vector<Op>& ops, CollectiveKind kind) {
  return std::count_if(ops.begin(), ops.end(), [&](const Op& op) {
    return op.kind == OpKind::kCollective && op.collective == kind && op.along == Dimension::kTensor;
  });
}

Plan plan_with(const std::vector<JobSetting>& settings) { return plan_of(test_job(settings), 8); }

TEST(Plan, OneGpuCommunicatesWithNobody) {
  const Plan plan = plan_with({});
  for (const ModelPart* part : {&plan.layer, &plan.embedding, &plan.head})
    for (const auto* list : {&part->forward, &part->backward})
      for (const Op& op : *list) EXPECT_NE(op.kind, OpKind::kCollective) << op.role;
}

TEST(Plan, TensorParallelLayersSumTwiceEachWay) {
  const Plan plan = plan_with({{"tensor_model_parallel_size", "4"}});
  EXPECT_EQ(collectives(plan.layer.forward, CollectiveKind::kAllReduce), 2);
  EXPECT_EQ(collectives(plan.layer.backward, CollectiveKind::kAllReduce), 2);
  EXPECT_EQ(collectives(plan.embedding.forward, CollectiveKind::kAllReduce), 1);
  EXPECT_EQ(collectives(plan.head.forward, CollectiveKind::kAllReduce), 3) << "maximum, target and sum of exponents";
  EXPECT_EQ(collectives(plan.head.backward, CollectiveKind::kAllReduce), 1);
}

TEST(Plan, SequenceParallelLayersScatterTheirSumsAndGatherTheirInputs) {
  const Plan plan = plan_with({{"tensor_model_parallel_size", "4"}, {"sequence_parallel", "true"}});
  EXPECT_EQ(collectives(plan.layer.forward, CollectiveKind::kReduceScatter), 2);
  EXPECT_EQ(collectives(plan.layer.forward, CollectiveKind::kAllGather), 2);
  EXPECT_EQ(collectives(plan.layer.forward, CollectiveKind::kAllReduce), 0);
  // Backward, row-parallel products need all tokens of their gradients, column-parallel ones all of their inputs.
  EXPECT_EQ(collectives(plan.layer.backward, CollectiveKind::kReduceScatter), 2);
  EXPECT_EQ(collectives(plan.layer.backward, CollectiveKind::kAllGather), 4);
  EXPECT_EQ(collectives(plan.head.forward, CollectiveKind::kAllReduce), 3) << "of losses, not of activations";
}

TEST(Plan, SequenceParallelActivationsOfATokenAreOnOneRank) {
  const Plan whole = plan_with({{"tensor_model_parallel_size", "4"}});
  const Plan parts = plan_with({{"tensor_model_parallel_size", "4"}, {"sequence_parallel", "true"}});
  const auto bytes_of = [](const Plan& plan, std::string_view role) {
    double bytes = 0;
    for (const Op& op : plan.layer.forward)
      if (op.role == role && op.kind != OpKind::kCollective)
        for (const Term& term : op.moved) bytes += term_bytes(plan, term);
    return bytes;
  };
  for (std::string_view role : {"input_layernorm", "pre_mlp_layernorm", "self_attn_bda", "mlp_bda"})
    EXPECT_EQ(bytes_of(whole, role), 4 * bytes_of(parts, role)) << role;
  EXPECT_EQ(bytes_of(whole, "activation"), bytes_of(parts, "activation"));
}

TEST(Plan, WhatRecomputationRepeatsIsPartOfTheForwardPass) {
  EXPECT_TRUE(plan_with({}).repeated().empty());
  const Plan full = plan_with({{"recompute_granularity", "full"}});
  EXPECT_EQ(full.repeated().size(), full.layer.forward.size());
  const Plan core = plan_with({{"recompute_granularity", "selective"}, {"use_flash_attn", "false"}});
  ASSERT_FALSE(core.repeated().empty());
  EXPECT_EQ(core.repeated().front().role, "attention_scores");
  EXPECT_EQ(core.repeated().back().role, "attention_transpose");
}

RC_GTEST_PROP(Plan, RanksOfATensorParallelGroupShareTheProductsOut, ()) {
  const int64_t tensor = 1 << *rc::gen::inRange(0, 3);
  const auto flag = [] { return *rc::gen::arbitrary<bool>() ? "true" : "false"; };
  const std::vector<JobSetting> settings = {
      {"swiglu", flag()}, {"use_flash_attn", flag()}, {"add_bias_linear", flag()}};
  std::vector<JobSetting> split = settings;
  split.emplace_back("tensor_model_parallel_size", std::to_string(tensor));
  const auto flops = [](const Plan& plan, const std::vector<Op>& ops) {
    double sum = 0;
    for (const KernelWork& work : kernel_work(ops, plan))
      if (const auto* product = std::get_if<GemmShape>(&work.shape)) sum += gemm_flops(*product);
    return sum;
  };
  const Plan one = plan_with(settings), each = plan_with(split);
  RC_ASSERT(flops(one, one.layer.forward) == static_cast<double>(tensor) * flops(each, each.layer.forward));
  RC_ASSERT(flops(one, one.layer.backward) == static_cast<double>(tensor) * flops(each, each.layer.backward));
}

TEST(Plan, ADistributedOptimizerScattersGradientsAndGathersParameters) {
  const Plan plain = plan_with({{"data_parallel_size", "4"}, {"use_distributed_optimizer", "false"}});
  EXPECT_EQ(plain.reduction.kind, CollectiveKind::kAllReduce);
  EXPECT_TRUE(plain.gathers.empty());
  EXPECT_EQ(plain.resident.optimizer, 1);
  const Plan plan = plan_with({{"data_parallel_size", "4"}, {"use_distributed_optimizer", "true"}});
  EXPECT_EQ(plan.reduction.kind, CollectiveKind::kReduceScatter);
  ASSERT_EQ(plan.gathers.size(), 1u);
  EXPECT_EQ(plan.resident.optimizer, 4);
  EXPECT_TRUE(plan.agreement.has(Dimension::kData)) << "each replica has the norm of its share";
}

}  // namespace
}  // namespace lumos

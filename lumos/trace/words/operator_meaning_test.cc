#include "lumos/trace/words/operator_meaning.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(OperatorMeaning, ArgumentsAreKnownByTheOperator) {
  EXPECT_EQ(operator_meaning("aten::addmm").op, Operator::kAddmm);
  EXPECT_EQ(operator_meaning("aten::addmm_").op, Operator::kOther);
  EXPECT_EQ(operator_meaning("aten::scaled_dot_product_attention").op, Operator::kScaledDotProduct);
  EXPECT_EQ(operator_meaning("aten::_scaled_dot_product_flash_attention").op, Operator::kScaledDotProductPart);
  EXPECT_EQ(operator_meaning("aten::_scaled_dot_product_efficient_attention_backward").op,
            Operator::kScaledDotProductBackward);
  EXPECT_EQ(operator_meaning("FlashAttnFunc").op, Operator::kFlashFunction);
  EXPECT_EQ(operator_meaning("torch::autograd::AccumulateGrad").op, Operator::kAccumulateGrad);
}

TEST(OperatorMeaning, EveryKindOfRowIsOneTraitOrMore) {
  const std::pair<const char*, OperatorTrait> expected[] = {
      {"autograd::engine::evaluate_function: MmBackward0", OperatorTrait::kEngine},
      {"autograd::engine::evaluate_function: MmBackward0", OperatorTrait::kBackwardNode},
      {"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", OperatorTrait::kAccumulates},
      {"CheckpointFunctionBackward", OperatorTrait::kCheckpoint},
      {"Optimizer.step#AdamW.step", OperatorTrait::kOptimizer},
      {"Optimizer.zero_grad#AdamW.zero_grad", OperatorTrait::kZeroing},
      {"aten::_fused_adamw_", OperatorTrait::kParameters},
      {"nccl:all_to_all", OperatorTrait::kAllToAll},
      {"record_param_comms", OperatorTrait::kCollectiveCall},
      {"_c10d_functional::wait_tensor", OperatorTrait::kWaits},
      {"c10d::allreduce_", OperatorTrait::kEnqueues},
      {"torch.distributed.ddp.reducer::copy_bucket_to_grad", OperatorTrait::kReducer},
      {"aten::baddbmm", OperatorTrait::kBatchedProduct},
      {"EmbeddingBackward0", OperatorTrait::kEmbedding},
      {"ProfilerStep#7", OperatorTrait::kStepMark},
      {"gloo:all_reduce", OperatorTrait::kGloo},
      {"FSDP::all_gather (layers.3)", OperatorTrait::kSharded},
      {"Torch-Compiled Region: 0/1", OperatorTrait::kCompiledRegion},
  };
  for (const auto& [name, trait] : expected) EXPECT_TRUE(operator_meaning(name).is(trait)) << name;
  EXPECT_EQ(operator_meaning("aten::add").traits, 0u);
  EXPECT_EQ(operator_meaning("").traits, 0u);
}

// Servers copy a batch's inputs so before they launch a graph.
TEST(OperatorMeaning, ACopyOfManyTensorsIsNoOptimizer) {
  EXPECT_FALSE(operator_meaning("aten::_foreach_copy_").is(OperatorTrait::kOptimizer));
  EXPECT_TRUE(operator_meaning("aten::_foreach_add_").is(OperatorTrait::kOptimizer));
}

TEST(OperatorMeaning, StepsHaveNumbers) {
  EXPECT_EQ(step_number("ProfilerStep#12"), 12);
  for (const char* name : {"ProfilerStep", "ProfilerStep#", "ProfilerStep*12", "step 12", ""})
    EXPECT_EQ(step_number(name), -1) << name;
}

TEST(OperatorMeaning, WhatTheEngineRunsIsShownWithoutTheEngine) {
  EXPECT_EQ(without_engine("autograd::engine::evaluate_function: MmBackward0"), "MmBackward0");
  EXPECT_EQ(without_engine("aten::mm"), "aten::mm");
}

}  // namespace
}  // namespace lumos

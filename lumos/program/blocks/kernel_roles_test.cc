#include "lumos/program/blocks/kernel_roles.h"

#include <gtest/gtest.h>

#include <map>

#include "lumos/program/predict.h"
#include "lumos/program/test_recovery.h"

namespace lumos {
namespace {

Job unfused_job(const std::string& length, const std::string& recompute = "null") {
  return test_job({{"use_flash_attn", "false"},
                   {"hidden_size", "4096"},
                   {"num_attention_heads", "32"},
                   {"seq_length", length},
                   {"recompute_granularity", recompute},
                   {"num_layers", "4"},
                   {"num_microbatches", "2"}});
}

TEST(KernelRoles, BatchedProductsAreAttentionAndTheLinearLayersKeepTheirs) {
  for (const char* recompute : {"null", "full", "selective"}) {
    const Job job = unfused_job("1024", recompute);
    const Recovery recovery = recover_of(synthetic_tables(job), job);
    const RankProgram& rank = recovery.program.ranks.front();
    std::map<KernelRole, int> products;
    for (size_t i = 0; i < rank.recovered.list.launches.size(); ++i) {
      const Launch& launch = rank.recovered.list.launches[i];
      if (rank.recovered.labels[i].layer < 0 || launch.outer_op == kNoIndex) continue;
      const std::string_view op = rank.table->name_of(launch.outer_op);
      const bool product = op.find("bmm") != std::string_view::npos || op.find("Bmm") != std::string_view::npos;
      if (product || op.find("oftmax") != std::string_view::npos) {
        EXPECT_EQ(role_name(recovery.roles[0][i].role), product ? "attention product" : "scores") << op;
      }
      ++products[recovery.roles[0][i].role];
    }
    EXPECT_EQ(products[KernelRole::kOtherGemm], 0) << recompute;
    EXPECT_GT(products[KernelRole::kQkv], 0);
    EXPECT_EQ(products[KernelRole::kQkv], products[KernelRole::kFc2]);
  }
}

TEST(KernelRoles, ScoresGrowWithTheSquareOfTheSequence) {
  const Job base = unfused_job("2048"), target = unfused_job("4096");
  const Recovery recovery = recover_of(synthetic_tables(base), base);
  ForecastOptions options;
  options.seeds = 2;
  const auto found = forecast(recovery, target, options);
  ASSERT_TRUE(found) << found.error().message;
  const std::vector<EventTable> written = synthetic_tables(target);
  EXPECT_NEAR(found->changed.mean.step_ms / step_ms(written.front()), 1, 0.04);
}

/// A layer as its kernels in the order of the forward, each launched inside an operator of its own name.
std::vector<RoleOf> roles_of_layers(const std::vector<std::string>& layer, std::vector<std::string>* kernels) {
  TestTraceShape shape;
  shape.layer = layer;
  const Job job = test_job({{"num_layers", "4"}, {"num_microbatches", "3"}});
  const auto table = TestTrace(shape).table();
  const Recovery recovery = recover_of({*table}, job);
  std::vector<RoleOf> roles;
  for (const Block& block : recovery.program.ranks[0].blocks) {
    if (block.role != BlockRole::kForwardLayer && block.role != BlockRole::kBackwardLayer) continue;
    if (block.label.step != 0 || block.label.microbatch != 0 || block.label.layer != 1) continue;
    for (uint32_t i = block.launch_begin; i < block.launch_end; ++i) {
      kernels->emplace_back(table->name_of(recovery.program.ranks[0].recovered.list.launches[i].gpu_row));
      roles.push_back(recovery.roles[0][i]);
    }
  }
  return roles;
}

TEST(KernelRoles, SeparateLinearLayersAreToldByTheirPlaceAroundAttention) {
  std::vector<std::string> kernels;
  const std::vector<RoleOf> roles = roles_of_layers({"norm", "gemm_query", "gemm_key", "gemm_value", "flash_core",
                                                     "gemm_out", "norm_2", "gemm_gate", "gemm_up", "silu", "gemm_down"},
                                                    &kernels);
  const std::map<std::string, std::string> expected = {
      {"gemm_query", "qkv"},      {"gemm_key", "qkv"},         {"gemm_value", "qkv"},
      {"gemm_out", "projection"}, {"gemm_up", "fc1"},          {"gemm_gate", "fc1"},
      {"gemm_down", "fc2"},       {"flash_core", "attention"}, {"silu", "ffn"}};
  size_t found = 0;
  for (size_t i = 0; i < roles.size(); ++i) {
    const auto one = expected.find(kernels[i].substr(0, kernels[i].find("_bwd")));
    if (one == expected.end()) continue;
    ++found;
    EXPECT_EQ(role_name(roles[i].role), one->second) << kernels[i];
    if (!kernels[i].starts_with("gemm")) continue;
    EXPECT_EQ(roles[i].whole, one->second == "projection" || one->second == "fc2") << kernels[i];
    EXPECT_EQ(roles[i].part, kernels[i].ends_with("_bwd_w") ? GemmPart::kWeightGradient
                             : kernels[i].ends_with("_bwd") ? GemmPart::kInputGradient
                                                            : GemmPart::kForward)
        << kernels[i];
  }
  EXPECT_EQ(found, 9u + 2 * 7 + 2);
}

TEST(KernelRoles, TheSumOfASplitProductIsNoProductOfItsOwn) {
  std::vector<std::string> kernels;
  const std::vector<RoleOf> roles = roles_of_layers(
      {"norm", "gemm_qkv", "flash_core", "gemm_out", "norm_2", "gemm_fc1", "gelu", "gemm_fc2", "splitKreduce_kernel"},
      &kernels);
  for (size_t i = 0; i < roles.size(); ++i) {
    if (kernels[i] == "gemm_qkv") {
      EXPECT_EQ(role_name(roles[i].role), "qkv");
    }
    if (kernels[i] == "gemm_fc2" || kernels[i] == "splitKreduce_kernel") {
      EXPECT_EQ(role_name(roles[i].role), "fc2");
    }
    EXPECT_NE(roles[i].role, KernelRole::kOtherGemm) << kernels[i];
  }
}

}  // namespace
}  // namespace lumos

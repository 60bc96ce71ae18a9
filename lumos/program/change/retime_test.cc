#include "lumos/program/change/retime.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumos/program/measure/network.h"
#include "lumos/program/test_recovery.h"

namespace lumos {
namespace {

TEST(Retime, WaitsGrowAsTheSlowestOfManyIsFartherFromTheMean) {
  EXPECT_NEAR(growth_of_waits(2, 4), 1.02938 / 0.56419, 1e-4);
  EXPECT_NEAR(growth_of_waits(8, 2), 0.56419 / 1.42360, 1e-4);
  EXPECT_EQ(growth_of_waits(8, 8), 1);
  EXPECT_EQ(growth_of_waits(1, 8), 1);
  EXPECT_EQ(growth_of_waits(8, 1), 0);
}

TEST(Network, CrossingNodesCostsUnlessTheMembersOwnEnoughCards) {
  const Network network = default_network();
  const double bytes = 1e9;
  const double inside = transfer_us(network, CommKind::kAllGather, bytes, {8, 8});
  const double many_cards = transfer_us(network, CommKind::kAllGather, bytes, {16, 8});
  const double one_card = transfer_us(network, CommKind::kAllGather, bytes, {16, 1});
  EXPECT_LT(inside, many_cards);
  EXPECT_NEAR(many_cards / inside, 1.07, 0.05);  // 15/16 of the bytes instead of 7/8, links inside are the limit
  EXPECT_NEAR(one_card / many_cards, 300.0 / 45.0, 0.5);
  EXPECT_EQ(transfer_us(network, CommKind::kAllReduce, bytes, {1, 1}), 0);
}

TEST(Network, OnlyServersWithNvSwitchOfTheFourthGenerationSumInThem) {
  for (const char* device : {"NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA H20", "NVIDIA B200", "NVIDIA GB200"})
    EXPECT_TRUE(has_summing_switches(device)) << device;
  for (const char* device : {"AMD Instinct MI300X", "NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA A100-SXM4-80GB",
                             "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA GeForce RTX 5090", ""})
    EXPECT_FALSE(has_summing_switches(device)) << device;
}

TEST(Network, ATierWithoutLatencyIsFittedLikeOthers) {
  const Job job = test_job({{"tensor_model_parallel_size", "4"}, {"num_layers", "2"}, {"num_microbatches", "2"}});
  const Recovery recovery = recover_of(synthetic_tables(job), job);
  const Network usual = fit_network(recovery.program, recovery.transfers, job, default_network());
  Network bare = default_network();
  for (Tier* tier : {&bare.node, &bare.fabric}) tier->latency_us = tier->hop_us = 0;
  const Network fitted = fit_network(recovery.program, recovery.transfers, job, bare);
  EXPECT_GT(fitted.node.observations, 0);
  EXPECT_TRUE(std::isfinite(fitted.node.latency_us) && std::isfinite(fitted.node.gb_per_s));
  EXPECT_NEAR(fitted.node.gb_per_s / usual.node.gb_per_s, 1, 0.3);
}

}  // namespace
}  // namespace lumos

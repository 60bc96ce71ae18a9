#include "lumos/program/retime.h"

#include <gtest/gtest.h>

#include "lumos/program/network.h"

namespace lumos {
namespace {

TEST(Retime, TheSlowestOfManyIsFartherFromTheMean) {
  // Expected largest of n normal variables (Harter 1961): 0.564, 1.029, 1.424, 1.766, 2.070.
  EXPECT_EQ(expected_maximum(1), 0);
  EXPECT_NEAR(expected_maximum(2), 0.564, 0.03);
  EXPECT_NEAR(expected_maximum(4), 1.029, 0.03);
  EXPECT_NEAR(expected_maximum(8), 1.424, 0.03);
  EXPECT_NEAR(expected_maximum(16), 1.766, 0.03);
  EXPECT_NEAR(expected_maximum(32), 2.070, 0.03);
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

}  // namespace
}  // namespace lumos

#include "lumos/graph/host/collective.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(Collective, BytesAndBusFactorsFollowNccl) {
  CollectiveDetail detail;
  detail.in_elements = 100;
  detail.out_elements = 400;
  EXPECT_EQ(collective_bytes(CollectiveKind::kAllGather, detail, ElementType::kBFloat16), 800);
  EXPECT_EQ(collective_bytes(CollectiveKind::kAllReduce, detail, ElementType::kFloat32), 400);
  EXPECT_EQ(collective_bytes(CollectiveKind::kAllReduce, detail, ElementType::kUnknown), -1);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kSendRecv, 2), 1.0);
}

}  // namespace
}  // namespace lumos

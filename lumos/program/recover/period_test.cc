#include "lumos/program/recover/period.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

std::vector<uint32_t> model(uint32_t layers, std::vector<uint32_t> head = {90, 91},
                            std::vector<uint32_t> tail = {92, 93, 94}) {
  std::vector<uint32_t> tokens = std::move(head);
  for (uint32_t i = 0; i < layers; ++i)
    for (uint32_t token : {1, 2, 3, 4, 2, 3, 5}) tokens.push_back(token);
  tokens.insert(tokens.end(), tail.begin(), tail.end());
  return tokens;
}

TEST(Period, FindsTheLayersBetweenHeadAndTail) {
  const Repetition found = find_repetition(model(6), 0);
  EXPECT_EQ(found.begin, 2u);
  EXPECT_EQ(found.length, 7u);
  EXPECT_EQ(found.count, 6u);
  EXPECT_DOUBLE_EQ(found.match, 1.0);
}

TEST(Period, ATailThatBeginsLikeALayerIsNotOne) {
  const Repetition found = find_repetition(model(4, {90}, {1, 2, 95, 96}), 0);
  EXPECT_EQ(found.begin, 1u);
  EXPECT_EQ(found.count, 4u);
}

TEST(Period, OneOddKernelInALayerIsTolerated) {
  std::vector<uint32_t> tokens = model(8);
  tokens[2 + 3 * 7 + 4] = 77;
  const Repetition found = find_repetition(tokens, 0);
  EXPECT_EQ(found.length, 7u);
  EXPECT_EQ(found.count, 8u);
  EXPECT_LT(found.match, 1.0);
}

TEST(Period, AKnownCountDecidesBetweenALayerAndTwo) {
  EXPECT_EQ(find_repetition(model(8), 4).length, 14u);
  EXPECT_EQ(find_repetition(model(8), 8).length, 7u);
}

TEST(Period, NothingRepeatsInNothing) {
  EXPECT_EQ(find_repetition({}, 0).count, 0u);
  EXPECT_EQ(find_repetition({1, 2, 3, 4, 5}, 0).count, 0u);
}

}  // namespace
}  // namespace lumos

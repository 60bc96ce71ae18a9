#include "lumos/graph/match/sequence_pairs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>

namespace lumos {
namespace {

constexpr int64_t kUs = 1000;

std::vector<CommSpan> random_spans(std::mt19937_64& random, size_t count) {
  std::vector<CommSpan> spans;
  int64_t time = 0;
  for (size_t i = 0; i < count; ++i) {
    time += 1000 * kUs + static_cast<int64_t>(random() % 3'000'000);
    const int64_t duration = 50 * kUs + static_cast<int64_t>(random() % 100'000);
    spans.push_back({time, time + duration, static_cast<uint32_t>(random() % 3), static_cast<uint32_t>(i)});
  }
  return spans;
}

std::vector<CommSpan> shifted(std::vector<CommSpan> spans, std::mt19937_64& random, int64_t offset_ns) {
  for (CommSpan& span : spans) {
    span.end_ns += offset_ns + static_cast<int64_t>(random() % 1000);
    span.start_ns += offset_ns - static_cast<int64_t>(random() % 40'000);
  }
  return spans;
}

RC_GTEST_PROP(SequencePairs, CutSequencesFindTheirOffsetAndPartners, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<uint32_t>());
  const size_t count = *rc::gen::inRange<size_t>(12, 80);
  const size_t cut = *rc::gen::inRange<size_t>(0, count / 3);
  const int64_t offset = *rc::gen::inRange<int64_t>(-5'000'000'000, 5'000'000'000);
  const auto a = random_spans(random, count);
  auto b = shifted(a, random, offset);
  b.erase(b.begin(), b.begin() + static_cast<ptrdiff_t>(cut));
  const auto found = vote_offset(a, b);
  RC_ASSERT(found.has_value());
  RC_ASSERT(std::abs(*found - offset) < 50 * kUs);
  const auto pairs = pair_by_ends(a, b, offset, kStrictToleranceNs);
  RC_ASSERT(pairs.size() == b.size());
  for (const auto& [i, j] : pairs) RC_ASSERT(a[i].id == b[j].id);
}

TEST(SequencePairs, UnrelatedSequencesAreNeitherOrderedNorVoted) {
  std::mt19937_64 random(7);
  auto a = random_spans(random, 60), b = random_spans(random, 60);
  for (CommSpan& span : a) span.signature = 0;
  for (CommSpan& span : b) span.signature = 0;
  const OrderFit fit = fit_order(a, b, std::nullopt);
  EXPECT_TRUE(fit.comparable);
  EXPECT_LT(fit.agreeing, 30u);
  EXPECT_FALSE(vote_offset(a, b).has_value());
  const double chance = chance_pairs(a, b, 0, kStrictToleranceNs);
  EXPECT_LT(chance, 5);
}

TEST(SequencePairs, DifferentSignaturesAreNotComparable) {
  const std::vector<CommSpan> a = {{0, 10, 1, 0}}, b = {{0, 10, 2, 0}};
  EXPECT_FALSE(fit_order(a, b, std::nullopt).comparable);
  EXPECT_TRUE(pair_by_ends(a, b, 0, kStrictToleranceNs).empty());
  EXPECT_TRUE(pair_by_ends({}, b, 0, kStrictToleranceNs).empty());
}

}  // namespace
}  // namespace lumos

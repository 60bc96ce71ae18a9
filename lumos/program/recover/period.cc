#include "lumos/program/recover/period.h"

#include <algorithm>

namespace lumos {
namespace {

/// A token that differs costs as much as this many that agree: one odd kernel in a layer is tolerated, two in a row are
/// the end of the repetition.
constexpr int kMismatchCost = 6;
/// Longer periods than this are not layers.
constexpr uint32_t kLongestPeriod = 4096;

struct Stretch {
  uint32_t begin = 0;
  uint32_t matches_end = 0;  ///< tokens[i] == tokens[i + period] for most i in [begin, matches_end)
  uint32_t matches = 0;
};

/// The stretch with the best balance of agreeing and differing tokens at this period.
Stretch best_stretch(const std::vector<uint32_t>& tokens, uint32_t period) {
  Stretch best;
  int64_t best_score = 0, score = 0;
  uint32_t begin = 0, matches = 0;
  for (uint32_t i = 0; i + period < tokens.size(); ++i) {
    const bool same = tokens[i] == tokens[i + period];
    score += same ? 1 : -kMismatchCost;
    matches += same;
    if (score <= 0) {
      score = 0;
      matches = 0;
      begin = i + 1;
    } else if (score > best_score) {
      best_score = score;
      best = {begin, i + 1, matches};
    }
  }
  return best;
}

}  // namespace

Repetition find_repetition(const std::vector<uint32_t>& tokens, uint32_t known_count) {
  Repetition best;
  const auto size = static_cast<uint32_t>(tokens.size());
  if (known_count == 1) return {0, size, size > 0 ? 1u : 0u, 1.0};
  uint32_t best_covered = 0;
  for (uint32_t period = 1; period <= std::min(size / 2, kLongestPeriod); ++period) {
    const Stretch stretch = best_stretch(tokens, period);
    const uint32_t length = stretch.matches_end - stretch.begin;
    if (length == 0) continue;
    uint32_t count = (length + period) / period;
    if (known_count > 0 && count < known_count) continue;
    if (known_count > 0) count = known_count;
    if (count < 2) continue;
    const uint32_t covered = count * period;
    // A multiple of the true period covers at most as much; only clearly more is worth a longer period.
    if (covered <= best_covered + best_covered / 16) continue;
    best_covered = covered;
    best = {stretch.begin, period, count, double(stretch.matches) / length};
  }
  return best;
}

}  // namespace lumos

#include "lumos/graph/match/sequence_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace lumos {

namespace {

// Votes of this many kernels find an offset that half of all agree on; more cost time and add nothing.
constexpr size_t kVoters = 64;
// Votes for the true offset lie within the jitter of two ends; drift during the recording widens that, by 20 ppm over
// two seconds. The narrow window decides where it holds nearly as many: steps of equal length give wide peaks
// elsewhere.
constexpr int64_t kVoteWindowNs = 50'000;
constexpr int64_t kNarrowWindowNs = 5'000;
constexpr double kNearlyAsMany = 0.8;
// Shifts for the chance rate: far beyond the tolerance, near enough that the job is in the same phase.
constexpr int64_t kChanceShiftsNs[] = {-3'170'000, -1'310'000, -530'000, 610'000, 1'490'000, 2'930'000};

std::vector<uint32_t> by_end(std::span<const CommSpan> spans) {
  std::vector<uint32_t> order(spans.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t x, uint32_t y) { return spans[x].end_ns < spans[y].end_ns; });
  return order;
}

/// For each of a, the nearest end in b with the same signature within the tolerance, or UINT32_MAX.
std::vector<uint32_t> nearest(std::span<const CommSpan> a, std::span<const uint32_t> a_order,
                              std::span<const CommSpan> b, std::span<const uint32_t> b_order, int64_t offset_ns,
                              int64_t tolerance_ns) {
  std::vector<uint32_t> out(a.size(), UINT32_MAX);
  size_t low = 0;
  for (uint32_t i : a_order) {
    const int64_t want = a[i].end_ns + offset_ns;
    while (low < b_order.size() && b[b_order[low]].end_ns < want - tolerance_ns) ++low;
    int64_t best = tolerance_ns + 1;
    for (size_t k = low; k < b_order.size() && b[b_order[k]].end_ns <= want + tolerance_ns; ++k) {
      const uint32_t j = b_order[k];
      const int64_t distance = std::abs(b[j].end_ns - want);
      if (a[i].signature == b[j].signature && distance < best) {
        best = distance;
        out[i] = j;
      }
    }
  }
  return out;
}

SpanPairs mutual_pairs(std::span<const CommSpan> a, std::span<const uint32_t> a_order, std::span<const CommSpan> b,
                       std::span<const uint32_t> b_order, int64_t offset_ns, int64_t tolerance_ns) {
  const auto to_b = nearest(a, a_order, b, b_order, offset_ns, tolerance_ns);
  const auto to_a = nearest(b, b_order, a, a_order, -offset_ns, tolerance_ns);
  SpanPairs pairs;
  for (uint32_t i = 0; i < a.size(); ++i) {
    const uint32_t j = to_b[i];
    if (j == UINT32_MAX || to_a[j] != i) continue;
    // A lane runs in order; a pair that crosses an earlier one is a coincidence.
    if (pairs.empty() || pairs.back().second < j) pairs.emplace_back(i, j);
  }
  return pairs;
}

/// The window that holds most of the sorted votes.
struct Peak {
  size_t count = 0;
  int64_t middle_ns = 0;
};

Peak densest(const std::vector<int64_t>& votes, int64_t window_ns) {
  Peak peak;
  for (size_t low = 0, high = 0; low < votes.size(); ++low) {
    while (high < votes.size() && votes[high] - votes[low] <= window_ns) ++high;
    if (high - low > peak.count) peak = {high - low, votes[low + (high - low) / 2]};
  }
  return peak;
}

}  // namespace

int64_t end_tolerance_ns(const CommSpan& a, const CommSpan& b) {
  const int64_t duration = std::min(a.end_ns - a.start_ns, b.end_ns - b.start_ns);
  return std::max(kStrictToleranceNs, duration / 10);
}

OrderFit fit_order(std::span<const CommSpan> a, std::span<const CommSpan> b, std::optional<int64_t> offset_ns) {
  OrderFit fit;
  if (a.size() != b.size() || a.empty()) return fit;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].signature != b[i].signature) return fit;
  }
  fit.comparable = true;
  std::vector<int64_t> differences(a.size());
  for (size_t i = 0; i < a.size(); ++i) differences[i] = b[i].end_ns - a[i].end_ns;
  std::vector<int64_t> sorted = differences;
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  fit.offset_ns = offset_ns.value_or(*middle);
  for (size_t i = 0; i < a.size(); ++i) {
    sorted[i] = std::abs(differences[i] - fit.offset_ns);
    if (sorted[i] <= end_tolerance_ns(a[i], b[i])) ++fit.agreeing;
  }
  std::nth_element(sorted.begin(), middle, sorted.end());
  fit.spread_ns = *middle;
  return fit;
}

SpanPairs pair_by_ends(std::span<const CommSpan> a, std::span<const CommSpan> b, int64_t offset_ns,
                       int64_t tolerance_ns) {
  return mutual_pairs(a, by_end(a), b, by_end(b), offset_ns, tolerance_ns);
}

double chance_pairs(std::span<const CommSpan> a, std::span<const CommSpan> b, int64_t offset_ns, int64_t tolerance_ns) {
  const auto a_order = by_end(a), b_order = by_end(b);
  size_t total = 0;
  for (int64_t shift : kChanceShiftsNs) {
    total += mutual_pairs(a, a_order, b, b_order, offset_ns + shift, tolerance_ns).size();
  }
  return double(total) / double(std::size(kChanceShiftsNs));
}

std::optional<int64_t> vote_offset(std::span<const CommSpan> a, std::span<const CommSpan> b) {
  if (a.size() > b.size()) {
    const auto reverse = vote_offset(b, a);
    return reverse ? std::optional<int64_t>(-*reverse) : std::nullopt;
  }
  if (a.size() < 3) return std::nullopt;
  std::vector<int64_t> votes;
  const size_t voters = std::min(a.size(), kVoters);
  votes.reserve(voters * b.size());
  for (size_t v = 0; v < voters; ++v) {
    const CommSpan& from = a[v * (a.size() - 1) / std::max<size_t>(voters - 1, 1)];
    for (const CommSpan& to : b) {
      if (to.signature == from.signature) votes.push_back(to.end_ns - from.end_ns);
    }
  }
  std::sort(votes.begin(), votes.end());
  const Peak wide = densest(votes, kVoteWindowNs), narrow = densest(votes, kNarrowWindowNs);
  if (wide.count < std::max<size_t>(3, (voters + 1) / 2)) return std::nullopt;
  return double(narrow.count) >= kNearlyAsMany * double(wide.count) ? narrow.middle_ns : wide.middle_ns;
}

}  // namespace lumos

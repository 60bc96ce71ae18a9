// Two ranks' communication kernels on one pair of lanes: which belong together, judged by their order and by the
// moments at which they end. Pure functions on two short columns; used by graph/match.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace lumos {

/// One communication kernel as pairing sees it. Columns of it are sorted by start.
struct CommSpan {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t signature = 0;  ///< kinds and sizes that differ cannot be one collective
  uint32_t id = 0;         ///< the caller's index
};

/// (index into a, index into b), increasing in both.
using SpanPairs = std::vector<std::pair<uint32_t, uint32_t>>;

/// How far two ends of one collective may lie apart: clock rounding and polling for short ones, a tenth of longer ones
/// (rings drain member by member; over PCIe that takes hundreds of microseconds).
int64_t end_tolerance_ns(const CommSpan& a, const CommSpan& b);

/// The tolerance where nothing but time speaks for a pair.
inline constexpr int64_t kStrictToleranceNs = 20'000;

/// What pairing the k-th of a with the k-th of b says. `agreeing` counts pairs whose ends differ by the offset.
struct OrderFit {
  bool comparable = false;  ///< same length and signatures
  uint32_t agreeing = 0;
  int64_t offset_ns = 0;  ///< median of b's end minus a's
  int64_t spread_ns = 0;  ///< median distance from it
};

/// Compares by order; against `offset_ns` where given, else against the pairs' own median.
OrderFit fit_order(std::span<const CommSpan> a, std::span<const CommSpan> b, std::optional<int64_t> offset_ns);

/// Pairs whose ends differ by offset_ns within the tolerance, nearest to each other, with equal signatures.
SpanPairs pair_by_ends(std::span<const CommSpan> a, std::span<const CommSpan> b, int64_t offset_ns,
                       int64_t tolerance_ns);

/// How many pairs pair_by_ends finds by chance: the mean over copies of b shifted in time.
double chance_pairs(std::span<const CommSpan> a, std::span<const CommSpan> b, int64_t offset_ns, int64_t tolerance_ns);

/// The offset that most pairs of a and b agree on, or nothing if fewer than half of the shorter one (at least three)
/// do.
std::optional<int64_t> vote_offset(std::span<const CommSpan> a, std::span<const CommSpan> b);

}  // namespace lumos

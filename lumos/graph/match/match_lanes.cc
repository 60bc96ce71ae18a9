#include "lumos/graph/match/match_lanes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <tuple>

#include "lumos/base/parallel.h"

namespace lumos {

namespace {

// Order alone needs at least this many kernels to be believed, and this share of them to end together.
constexpr size_t kOrderKernels = 3;
constexpr double kOrderShare = 0.6;
// Pairs by time must exceed what time-shifted copies give by this factor, and be at least two.
constexpr double kOverChance = 4.0;
// An all-to-all runs on the kernel of point-to-point transfers; what tells it is that all members end together.
constexpr double kCliqueShare = 0.8;
constexpr int64_t kCliqueSlackNs = 1'500;

uint32_t signature_of(const CommKernel& kernel) {
  uint32_t signature = static_cast<uint32_t>(kernel.kind);
  // Members of an all-to-all may send different sizes.
  if (kernel.bytes >= 0 && kernel.kind != CollectiveKind::kAllToAll && kernel.kind != CollectiveKind::kSendRecv) {
    signature = signature * 0x9E3779B1u + static_cast<uint32_t>(kernel.bytes ^ (kernel.bytes >> 32));
  }
  return signature;
}

int64_t median_distance(const std::vector<CommSpan>& a, const std::vector<CommSpan>& b, const SpanPairs& pairs) {
  std::vector<int64_t> distances;
  for (const auto& [i, j] : pairs) distances.push_back(std::abs(a[i].end_ns - b[j].end_ns));
  if (distances.empty()) return 0;
  const auto middle = distances.begin() + static_cast<ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  return *middle;
}

/// How well two lanes of one known and one unknown rank agree, and the clock offset that this implies.
struct Bootstrap {
  double share = 0;
  int64_t spread_ns = INT64_MAX;
  int64_t offset_ns = 0;
};

std::optional<Bootstrap> bootstrap_pair(const std::vector<CommSpan>& known, const std::vector<CommSpan>& unknown) {
  const OrderFit fit = fit_order(known, unknown, std::nullopt);
  const size_t shorter = std::min(known.size(), unknown.size());
  if (shorter < kOrderKernels) return std::nullopt;
  if (fit.comparable && fit.agreeing >= kOrderShare * double(shorter)) {
    return Bootstrap{fit.agreeing / double(shorter), fit.spread_ns, fit.offset_ns};
  }
  const std::optional<int64_t> offset = vote_offset(known, unknown);
  if (!offset) return std::nullopt;
  const SpanPairs pairs = pair_by_ends(known, unknown, *offset, 2 * kStrictToleranceNs);
  const double share = double(pairs.size()) / double(shorter);
  if (pairs.size() < kOrderKernels || share < kOrderShare) return std::nullopt;
  std::vector<int64_t> differences;
  for (const auto& [i, j] : pairs) differences.push_back(unknown[j].end_ns - known[i].end_ns);
  const auto middle = differences.begin() + static_cast<ptrdiff_t>(differences.size() / 2);
  std::nth_element(differences.begin(), middle, differences.end());
  const int64_t exact = *middle;
  for (int64_t& difference : differences) difference = std::abs(difference - exact);
  std::nth_element(differences.begin(), middle, differences.end());
  return Bootstrap{share, *middle, exact};
}

/// The offset that most sequences of the two ranks agree on, the tightest among equals: one pair of lanes may agree on
/// a wrong one, where the next collective always follows at the same distance.
std::optional<Bootstrap> bootstrap_rank(const std::vector<LaneSequence>& lanes, const JobMatches& matches,
                                        uint32_t known, uint32_t unknown) {
  std::vector<Bootstrap> found;
  for (const LaneSequence& a : lanes) {
    if (a.rank_index != known) continue;
    const auto a_spans = spans_of(matches, a.kernels, true);
    for (const LaneSequence& b : lanes) {
      if (b.rank_index != unknown || b.point_to_point != a.point_to_point || b.group != a.group) continue;
      const auto pair = bootstrap_pair(a_spans, spans_of(matches, b.kernels, false));
      if (pair) found.push_back(*pair);
    }
  }
  const Bootstrap* best = nullptr;
  std::tuple<size_t, double, int64_t> best_rank;
  for (const Bootstrap& candidate : found) {
    size_t support = 0;
    for (const Bootstrap& other : found) {
      support += std::abs(candidate.offset_ns - other.offset_ns) <= kStrictToleranceNs;
    }
    const std::tuple<size_t, double, int64_t> rank{support, candidate.share, -candidate.spread_ns};
    if (best == nullptr || rank > best_rank) {
      best = &candidate;
      best_rank = rank;
    }
  }
  return best == nullptr ? std::nullopt : std::optional<Bootstrap>(*best);
}

/// Judges one pair of lanes on the reference clock. `refused` is set where order would pair them and the ends do not.
std::optional<LanePair> judge_pair(const std::vector<CommSpan>& a, const std::vector<CommSpan>& b, bool& refused) {
  LanePair out;
  const size_t shorter = std::min(a.size(), b.size());
  const OrderFit fit = fit_order(a, b, 0);
  if (fit.comparable && shorter >= kOrderKernels && fit.agreeing >= kOrderShare * double(shorter)) {
    for (uint32_t i = 0; i < shorter; ++i) {
      if (std::abs(a[i].end_ns - b[i].end_ns) <= end_tolerance_ns(a[i], b[i])) out.pairs.emplace_back(i, i);
    }
    out.by_order = true;
  } else {
    out.pairs = pair_by_ends(a, b, 0, kStrictToleranceNs);
    const double found = double(out.pairs.size());
    if (out.pairs.size() < 2 || found <= kOverChance * chance_pairs(a, b, 0, kStrictToleranceNs)) out.pairs.clear();
    refused = fit.comparable && 2 * out.pairs.size() < shorter;
    if (out.pairs.empty()) return std::nullopt;
  }
  out.of_shorter = double(out.pairs.size()) / double(shorter);
  out.of_longer = double(out.pairs.size()) / double(std::max(a.size(), b.size()));
  out.spread_ns = median_distance(a, b, out.pairs);
  return out;
}

/// Disjoint sets of lanes with at most one lane per rank.
class LaneSets {
 public:
  explicit LaneSets(const std::vector<LaneSequence>& lanes)
      : set_(lanes.size()), members_(lanes.size()), lanes_(lanes) {
    std::iota(set_.begin(), set_.end(), 0u);
    for (uint32_t i = 0; i < lanes.size(); ++i) members_[i] = {i};
  }
  void join(uint32_t a, uint32_t b) {
    uint32_t to = set_[a], from = set_[b];
    if (to == from) return;
    if (members_[to].size() < members_[from].size()) std::swap(to, from);
    for (uint32_t x : members_[from]) {
      for (uint32_t y : members_[to]) {
        if (lanes_[x].rank_index == lanes_[y].rank_index) return;
      }
    }
    for (uint32_t x : members_[from]) {
      set_[x] = to;
      members_[to].push_back(x);
    }
    members_[from].clear();
  }
  std::vector<std::vector<uint32_t>> groups() {
    std::vector<std::vector<uint32_t>> out;
    for (auto& members : members_) {
      if (members.size() < 2) continue;
      std::sort(members.begin(), members.end());
      out.push_back(members);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  std::vector<uint32_t> set_;
  std::vector<std::vector<uint32_t>> members_;
  const std::vector<LaneSequence>& lanes_;
};

/// Point-to-point lanes where three or more ranks end together: for each lane its partners that agree as tightly as its
/// best one. Ranks that merely run in step (tensor-parallel twins) end close, but not as close as two ends of a
/// transfer.
std::vector<const LanePair*> clique_pairs(const std::vector<LaneSequence>& lanes, const std::vector<LanePair>& pairs) {
  std::vector<int64_t> tightest(lanes.size(), INT64_MAX);
  for (const LanePair& pair : pairs) {
    if (!lanes[pair.a].point_to_point || pair.of_longer < kCliqueShare) continue;
    tightest[pair.a] = std::min(tightest[pair.a], pair.spread_ns);
    tightest[pair.b] = std::min(tightest[pair.b], pair.spread_ns);
  }
  std::vector<const LanePair*> close;
  std::vector<uint32_t> degree(lanes.size(), 0);
  for (const LanePair& pair : pairs) {
    if (!lanes[pair.a].point_to_point || pair.of_longer < kCliqueShare) continue;
    const int64_t limit = std::max(tightest[pair.a], tightest[pair.b]) * 2 + kCliqueSlackNs;
    if (pair.spread_ns > limit) continue;
    close.push_back(&pair);
    ++degree[pair.a];
    ++degree[pair.b];
  }
  close.erase(std::remove_if(close.begin(), close.end(),
                             [&](const LanePair* pair) { return degree[pair->a] < 2 || degree[pair->b] < 2; }),
              close.end());
  return close;
}

}  // namespace

std::vector<CommSpan> spans_of(const JobMatches& matches, std::span<const uint32_t> kernels, bool reference_clock) {
  std::vector<CommSpan> spans;
  spans.reserve(kernels.size());
  for (uint32_t id : kernels) {
    const CommKernel& kernel = matches.kernels[id];
    const int64_t start = reference_clock ? matches.start_of(id) : kernel.start_ns;
    const int64_t end = reference_clock ? matches.end_of(id) : kernel.end_ns;
    spans.push_back({start, end, signature_of(kernel), id});
  }
  return spans;
}

std::vector<LaneSequence> lanes_without_group(const JobMatches& matches) {
  std::map<std::tuple<uint32_t, uint32_t, bool>, LaneSequence> lanes;
  for (uint32_t id = 0; id < matches.kernels.size(); ++id) {
    const CommKernel& kernel = matches.kernels[id];
    if (kernel.group != kNoIndex) continue;
    const bool point_to_point = kernel.kind == CollectiveKind::kSendRecv;
    LaneSequence& lane = lanes[{kernel.rank_index, kernel.lane, point_to_point}];
    lane.rank_index = kernel.rank_index;
    lane.lane = kernel.lane;
    lane.point_to_point = point_to_point;
    lane.kernels.push_back(id);
  }
  std::vector<LaneSequence> out;
  for (auto& [key, lane] : lanes) out.push_back(std::move(lane));
  return out;
}

void bootstrap_clocks(const std::vector<LaneSequence>& sequences, JobMatches& matches) {
  const uint32_t ranks = static_cast<uint32_t>(matches.clocks.size());
  for (bool found = true; found;) {
    found = false;
    for (uint32_t unknown = 1; unknown < ranks; ++unknown) {
      if (matches.clocks[unknown].known) continue;
      std::optional<Bootstrap> best;
      for (uint32_t known = 0; known < ranks && !best; ++known) {
        if (matches.clocks[known].known) best = bootstrap_rank(sequences, matches, known, unknown);
      }
      if (!best) continue;
      matches.clocks[unknown].offset_ns = best->offset_ns;
      matches.clocks[unknown].known = found = true;
    }
  }
}

std::vector<LanePair> find_lane_pairs(const std::vector<LaneSequence>& lanes, const JobMatches& matches,
                                      const std::vector<std::vector<bool>>& may_pair, int threads,
                                      std::vector<bool>& refused) {
  std::vector<std::vector<CommSpan>> spans(lanes.size());
  for (size_t i = 0; i < lanes.size(); ++i) spans[i] = spans_of(matches, lanes[i].kernels, true);
  std::vector<std::vector<LanePair>> found(lanes.size());
  std::vector<uint8_t> refused_lane(lanes.size(), 0);
  std::mutex mutex;
  parallel_for(lanes.size(), threads, [&](size_t a) {
    for (size_t b = a + 1; b < lanes.size(); ++b) {
      if (lanes[a].rank_index == lanes[b].rank_index || lanes[a].point_to_point != lanes[b].point_to_point) continue;
      if (lanes[a].point_to_point && !may_pair[lanes[a].rank_index][lanes[b].rank_index]) continue;
      bool lanes_refused = false;
      auto pair = judge_pair(spans[a], spans[b], lanes_refused);
      if (lanes_refused) {
        const std::lock_guard lock(mutex);
        refused_lane[a] = refused_lane[b] = 1;
      }
      if (!pair) continue;
      pair->a = static_cast<uint32_t>(a);
      pair->b = static_cast<uint32_t>(b);
      found[a].push_back(std::move(*pair));
    }
  });
  for (size_t i = 0; i < lanes.size(); ++i) {
    for (uint32_t id : lanes[i].kernels) refused[id] = refused_lane[i] != 0;
  }
  std::vector<LanePair> out;
  for (auto& list : found) std::move(list.begin(), list.end(), std::back_inserter(out));
  std::stable_sort(out.begin(), out.end(), [](const LanePair& x, const LanePair& y) {
    if (x.of_shorter != y.of_shorter) return x.of_shorter > y.of_shorter;
    return x.spread_ns < y.spread_ns;
  });
  return out;
}

std::vector<std::vector<uint32_t>> find_lane_groups(const std::vector<LaneSequence>& lanes,
                                                    const std::vector<LanePair>& pairs) {
  LaneSets sets(lanes);
  for (const LanePair& pair : pairs) {
    if (!lanes[pair.a].point_to_point && pair.of_shorter >= kOrderShare) sets.join(pair.a, pair.b);
  }
  for (const LanePair* pair : clique_pairs(lanes, pairs)) sets.join(pair->a, pair->b);
  return sets.groups();
}

}  // namespace lumos

#include "lumos/graph/match/clocks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <utility>

#include "lumos/base/result.h"

namespace lumos {

namespace {

// Theil-Sen looks at all pairs of points; this many points (45,000 pairs) already pin a slope to its noise.
constexpr size_t kLinePoints = 300;
// A line through fewer points, or over a shorter time, says more about noise than about drift.
constexpr size_t kDriftPoints = 8;
constexpr int64_t kDriftSpanNs = 50'000'000;
// Crystal oscillators stay within 100 ppm; a steeper line is not a clock.
constexpr double kMaxDrift = 200e-6;
// Each round moves every clock to the median of the others; from medians over a tree it settles in three.
constexpr int kRounds = 4;

template <class T>
T median_of(std::vector<T>& values) {
  CHECK(!values.empty());
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// At most kLinePoints indexes, evenly over the x order.
std::vector<size_t> thin(std::span<const int64_t> x) {
  std::vector<size_t> order(x.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] < x[b]; });
  if (order.size() <= kLinePoints) return order;
  std::vector<size_t> out(kLinePoints);
  for (size_t i = 0; i < kLinePoints; ++i) out[i] = order[i * (order.size() - 1) / (kLinePoints - 1)];
  return out;
}

double slope_of(std::span<const int64_t> x, std::span<const int64_t> y) {
  const std::vector<size_t> points = thin(x);
  if (points.size() < kDriftPoints || x[points.back()] - x[points.front()] < kDriftSpanNs) return 0;
  std::vector<double> slopes;
  slopes.reserve(points.size() * (points.size() - 1) / 2);
  // Close points divide noise by little: only pairs at least a quarter of the span apart vote.
  const int64_t least = (x[points.back()] - x[points.front()]) / 4;
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t j = i + 1; j < points.size(); ++j) {
      const int64_t dx = x[points[j]] - x[points[i]];
      if (dx >= least) slopes.push_back(double(y[points[j]] - y[points[i]]) / double(dx));
    }
  }
  if (slopes.empty()) return 0;
  const double slope = median_of(slopes);
  return std::abs(slope) > kMaxDrift ? 0 : slope;
}

/// True if the slope exceeds three standard errors of a least-squares slope with this noise (MAD = 0.67 sigma).
bool stands_out(const RobustLine& line, std::span<const int64_t> x) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const double error = line.spread / 0.67 * std::sqrt(12.0 / double(x.size())) / double(*high - *low);
  return std::abs(line.slope) > 3 * error;
}

RobustLine fit_level(std::span<const int64_t> y) {
  RobustLine line;
  std::vector<int64_t> values(y.begin(), y.end());
  const int64_t middle = median_of(values);
  for (int64_t& value : values) value = std::abs(value - middle);
  line.spread = double(median_of(values));
  line.at_pivot = double(middle);
  return line;
}

void set_line(RankClock& clock, const RobustLine& line, size_t samples) {
  clock.offset_ns = std::llround(line.at_pivot);
  clock.drift = line.slope;
  clock.spread_ns = std::llround(line.spread);
  clock.samples = static_cast<uint32_t>(samples);
  clock.known = true;
}

/// Ends of two ranks in the same collectives.
struct SharedEnds {
  std::vector<int64_t> first, second;
};
using RankPairs = std::map<std::pair<uint32_t, uint32_t>, SharedEnds>;

/// What pairs of ranks share. Of a collective of many, neighbours and pairs with the first member stand for all pairs:
/// they connect the same ranks.
RankPairs shared_ends(const ClockSamples& samples) {
  RankPairs pairs;
  auto add = [&](ClockEnd a, ClockEnd b) {
    if (a.rank_index == b.rank_index) return;
    if (a.rank_index > b.rank_index) std::swap(a, b);
    SharedEnds& shared = pairs[{a.rank_index, b.rank_index}];
    shared.first.push_back(a.end_ns);
    shared.second.push_back(b.end_ns);
  };
  for (size_t c = 0; c + 1 < samples.begin.size(); ++c) {
    const uint32_t begin = samples.begin[c], end = samples.begin[c + 1];
    for (uint32_t e = begin + 1; e < end; ++e) {
      add(samples.ends[e - 1], samples.ends[e]);
      if (e > begin + 1) add(samples.ends[begin], samples.ends[e]);
    }
  }
  return pairs;
}

/// Fits `rank`'s clock against the already known one of the other rank of the pair.
void fit_against(const std::vector<int64_t>& known_ends, const RankClock& known, const std::vector<int64_t>& ends,
                 RankClock& clock) {
  std::vector<int64_t> x(ends.size()), y(ends.size());
  for (size_t i = 0; i < ends.size(); ++i) {
    x[i] = known.to_reference(known_ends[i]);
    y[i] = ends[i] - x[i];
  }
  set_line(clock, fit_line(x, y, clock.pivot_ns), ends.size());
}

/// First estimate: from the lowest rank outwards, always along the pair of ranks that shares most (a spanning tree), so
/// that the drift of a host is read where it shows best. Returns which ranks are connected to the lowest one.
std::vector<bool> spread_clocks(const ClockSamples& samples, std::vector<RankClock>& clocks) {
  const RankPairs pairs = shared_ends(samples);
  std::vector<std::vector<std::pair<uint32_t, const SharedEnds*>>> next(clocks.size());
  for (const auto& [ranks, shared] : pairs) {
    next[ranks.first].emplace_back(ranks.second, &shared);
    next[ranks.second].emplace_back(ranks.first, &shared);
  }
  // (shared, known rank, new rank): most shared first, then the lowest ranks.
  struct Step {
    size_t shared;
    uint32_t from, to;
    const SharedEnds* ends;
    bool operator<(const Step& other) const {
      if (shared != other.shared) return shared < other.shared;
      return std::pair(from, to) > std::pair(other.from, other.to);
    }
  };
  std::priority_queue<Step> queue;
  auto reach = [&](uint32_t rank) {
    for (const auto& [to, ends] : next[rank]) queue.push({ends->first.size(), rank, to, ends});
  };
  // Ranks that nothing connects to the lowest one may still be connected among themselves: their own lowest leads them.
  std::vector<bool> with_lowest;
  for (uint32_t root = 0; root < clocks.size(); ++root) {
    if (clocks[root].known) continue;
    clocks[root].known = true;
    reach(root);
    while (!queue.empty()) {
      const Step step = queue.top();
      queue.pop();
      if (clocks[step.to].known) continue;
      const bool ascending = step.from < step.to;
      fit_against(ascending ? step.ends->first : step.ends->second, clocks[step.from],
                  ascending ? step.ends->second : step.ends->first, clocks[step.to]);
      reach(step.to);
    }
    if (root > 0) continue;
    for (const RankClock& clock : clocks) with_lowest.push_back(clock.known);
  }
  return with_lowest;
}

/// One round: every offset moves to the median distance from the other members' median end. Drifts stay: within a host
/// they are shared, and members of one host would only confirm each other.
void refine(const ClockSamples& samples, std::vector<RankClock>& clocks) {
  std::vector<std::vector<int64_t>> late(clocks.size());
  std::vector<std::pair<int64_t, uint32_t>> times;
  for (size_t c = 0; c + 1 < samples.begin.size(); ++c) {
    times.clear();
    for (uint32_t e = samples.begin[c]; e < samples.begin[c + 1]; ++e) {
      const RankClock& clock = clocks[samples.ends[e].rank_index];
      if (clock.known) times.emplace_back(clock.to_reference(samples.ends[e].end_ns), e);
    }
    if (times.size() < 2) continue;
    std::sort(times.begin(), times.end());
    for (size_t i = 0; i < times.size(); ++i) {
      // The median of the others: the member itself is stepped over.
      const size_t others = times.size() - 1;
      const size_t middle = others / 2;
      const int64_t time = times[middle >= i ? middle + 1 : middle].first;
      late[samples.ends[times[i].second].rank_index].push_back(times[i].first - time);
    }
  }
  for (size_t r = 1; r < clocks.size(); ++r) {
    if (late[r].empty() || !clocks[r].known) continue;
    const RobustLine level = fit_level(late[r]);
    clocks[r].offset_ns += std::llround(level.at_pivot);
    clocks[r].spread_ns = std::llround(level.spread);
    clocks[r].samples = static_cast<uint32_t>(late[r].size());
  }
}

}  // namespace

RobustLine fit_line(std::span<const int64_t> x, std::span<const int64_t> y, int64_t pivot) {
  CHECK(x.size() == y.size());
  RobustLine line;
  if (x.empty()) return line;
  line.slope = slope_of(x, y);
  // Medians of differences to the first value: large offsets would lose nanoseconds in a double.
  const int64_t base = y[0];
  std::vector<double> values(x.size());
  for (size_t i = 0; i < x.size(); ++i) values[i] = double(y[i] - base) - line.slope * double(x[i] - pivot);
  const double middle = median_of(values);
  for (double& value : values) value = std::abs(value - middle);
  line.spread = median_of(values);
  line.at_pivot = double(base) + middle;
  if (line.slope == 0 || stands_out(line, x)) return line;
  return fit_level(y);
}

std::vector<RankClock> estimate_clocks(uint32_t ranks, const ClockSamples& samples, int64_t pivot_ns) {
  std::vector<RankClock> clocks(ranks);
  for (RankClock& clock : clocks) clock.pivot_ns = pivot_ns;
  if (ranks == 0) return clocks;
  const std::vector<bool> with_lowest = spread_clocks(samples, clocks);
  for (int round = 0; round < kRounds; ++round) refine(samples, clocks);
  for (uint32_t r = 0; r < ranks; ++r) clocks[r].known = with_lowest[r];
  return clocks;
}

}  // namespace lumos

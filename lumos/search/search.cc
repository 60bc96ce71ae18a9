#include "lumos/search/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <tuple>

#include "lumos/base/parallel.h"
#include "lumos/plan/estimate.h"
#include "lumos/search/front.h"

namespace lumos {
namespace {

/// Positions of the order between two looks at what can be left out. Fixed, so that what is evaluated does not depend
/// on the number of threads; small, so that little is evaluated in vain and an interruption is soon noticed. Positions
/// that are left out count too: a part then never knows more at a position than the whole search does there, and so the
/// parts together have evaluated all that the whole search asks for.
constexpr size_t kBlock = 64;

/// What is known of the answer so far.
class Best {
 public:
  explicit Best(size_t keep) : keep_(std::max<size_t>(keep, 1)) {}

  void add(const Outcome& outcome) {
    if (!outcome.fits) return;
    front_.add(objectives_of(outcome));
    shortest_ms_.push(outcome.step_ms);
    if (shortest_ms_.size() > keep_) shortest_ms_.pop();
    best_ms_ = best_ms_ == 0 ? outcome.step_ms : std::min(best_ms_, outcome.step_ms);
  }
  /// The two conditions of the header. A step equal to the bound proves nothing, so the front is asked about a point
  /// that only a shorter step dominates.
  bool rules_out(const Configuration& configuration) const {
    if (shortest_ms_.size() < keep_ || shortest_ms_.top() >= configuration.bound_ms) return false;
    const double below_bound_ms = std::nextafter(configuration.bound_ms, 0.0);
    return front_.has_within({below_bound_ms, configuration.peak_gib, configuration.job.world_size});
  }
  double step_ms() const { return best_ms_; }

 private:
  size_t keep_;
  Front front_;
  std::priority_queue<double> shortest_ms_;  // the longest of the `keep_` shortest on top
  double best_ms_ = 0;
};

/// Indexes of this shard's configurations, lowest bound first.
std::vector<size_t> order_of(const std::vector<Configuration>& configurations, const Shard& shard) {
  std::vector<size_t> order(configurations.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return configurations[a].bound_ms < configurations[b].bound_ms; });
  std::vector<size_t> part;
  for (size_t position = 0; position < order.size(); ++position) {
    if (shard.has(position)) part.push_back(order[position]);
  }
  return part;
}

/// Fills in the outcomes of a block, from `known` or by estimating. True for those that are new.
std::vector<char> evaluate(const std::vector<Configuration>& configurations, const Anchor& anchor,
                           const KnownOutcomes& known, int threads, std::vector<Evaluated>& block) {
  std::vector<char> fresh(block.size(), 0);
  parallel_for(block.size(), threads, [&](size_t i) {
    const Configuration& configuration = configurations[block[i].index];
    if (const auto found = known.find(configuration.id); found != known.end()) {
      block[i].outcome = found->second;
      return;
    }
    const Result<Estimate> done = estimate(configuration.job, anchor.cluster, anchor.scales);
    CHECK(done);  // whatever is too large for the cluster has not become a configuration
    block[i].outcome = outcome_of(configuration.id, configuration.job, *done);
    fresh[i] = 1;
  });
  return fresh;
}

void rank(SearchResult& result) {
  std::sort(result.evaluated.begin(), result.evaluated.end(), [](const Evaluated& a, const Evaluated& b) {
    return std::tuple(!a.outcome.fits, a.outcome.step_ms, a.outcome.peak_gib, a.index) <
           std::tuple(!b.outcome.fits, b.outcome.step_ms, b.outcome.peak_gib, b.index);
  });
  std::vector<Outcome> outcomes;
  for (const Evaluated& each : result.evaluated) outcomes.push_back(each.outcome);
  result.front = pareto_front(outcomes);
}

}  // namespace

Result<SearchResult> search(const std::vector<Configuration>& configurations, const Anchor& anchor,
                            const KnownOutcomes& known, const SearchOptions& options, const SaveOutcomes& save) {
  const std::vector<size_t> order = order_of(configurations, options.shard);
  SearchResult result;
  Best best(options.keep);
  for (size_t next = 0; next < order.size();) {
    if (options.stopped()) {
      result.complete = false;
      break;
    }
    std::vector<Evaluated> block;
    for (const size_t end = std::min(next + kBlock, order.size()); next < end; ++next) {
      const Configuration& configuration = configurations[order[next]];
      if (!options.exhaustive && !configuration.fits) {
        ++result.does_not_fit;
      } else if (!options.exhaustive && best.rules_out(configuration)) {
        ++result.pruned;
      } else {
        block.push_back({order[next], {}});
      }
    }
    const std::vector<char> fresh = evaluate(configurations, anchor, known, options.threads, block);
    std::vector<Evaluated> news;
    for (size_t i = 0; i < block.size(); ++i) {
      best.add(block[i].outcome);
      if (fresh[i]) news.push_back(block[i]);
    }
    TRY_STATUS(save(news));
    result.known += block.size() - news.size();
    result.evaluated.insert(result.evaluated.end(), block.begin(), block.end());
    options.report({next, order.size(), best.step_ms()});
  }
  rank(result);
  return result;
}

}  // namespace lumos

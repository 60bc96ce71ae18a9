#include "lumos/search/search.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "lumos/plan/estimate.h"
#include "lumos/search/test_space.h"

namespace lumos {
namespace {

SearchResult run(const std::vector<Configuration>& configurations, const Cluster& cluster, SearchOptions options,
                 const KnownOutcomes& known = {}, std::vector<Outcome>* saved = nullptr) {
  const Result<SearchResult> result =
      search(configurations, {cluster, {}}, known, options, [&](const std::vector<Evaluated>& news) -> Status {
        if (saved == nullptr) return {};
        for (const Evaluated& each : news) saved->push_back(each.outcome);
        return {};
      });
  EXPECT_TRUE(result);
  return result.value_or(SearchResult{});
}

std::vector<Configuration> small_space(const Job& base, const Cluster& cluster, int64_t num_gpus) {
  const Result<Enumeration> found = enumerate_space(complete_space({}, base, cluster, num_gpus).value(), base, cluster);
  EXPECT_TRUE(found) << found.error().message;
  return make_configurations(found->jobs, {cluster, {}}, 1);
}

std::vector<size_t> front_of(const SearchResult& result) {
  std::vector<size_t> indexes;
  for (const size_t i : result.front) indexes.push_back(result.evaluated[i].index);
  std::sort(indexes.begin(), indexes.end());
  return indexes;
}

/// The first `count` that fit.
std::vector<size_t> best_of(const SearchResult& result, size_t count) {
  std::vector<size_t> indexes;
  for (const Evaluated& each : result.evaluated) {
    if (each.outcome.fits && indexes.size() < count) indexes.push_back(each.index);
  }
  return indexes;
}

template <class T>
T any_of(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}

/// A random model on a random machine and number of GPUs: some configurations fit and some do not.
std::vector<Configuration> random_space(Cluster& cluster) {
  cluster = search_test_cluster();
  cluster.gpu.memory_gib = any_of({16.0, 24.0, 40.0, 80.0});
  cluster.fabric.gb_per_s *= any_of({0.1, 1.0, 4.0});
  cluster.node.gb_per_s *= any_of({0.05, 1.0});
  cluster.gpus_per_node = any_of<int64_t>({2, 4, 8});
  const std::string hidden = any_of<std::string>({"1024", "2048", "4096"});
  Job base = search_test_job({{"num_layers", any_of<std::string>({"4", "6", "12"})},
                              {"hidden_size", hidden},
                              {"global_batch_size", any_of<std::string>({"16", "32", "48"})},
                              {"overlap_grad_reduce", any_of<std::string>({"false", "true"})},
                              {"overlap_p2p_comm", any_of<std::string>({"false", "true"})}});
  SearchSpace space;
  space.axes.push_back({"world_size", any_of<std::vector<std::string>>({{"4"}, {"8"}, {"16"}, {"8", "16"}})});
  space.axes.push_back({"micro_batch_size", {"1", "2", "4"}});
  const Result<Enumeration> found = enumerate_space(complete_space(space, base, cluster, 0).value(), base, cluster);
  RC_ASSERT(found.has_value());
  return make_configurations(found->jobs, {cluster, {}}, 1);
}

TEST(Search, PrunedAndExhaustiveGiveTheSameBestAndTheSameFront) {
  size_t pruned = 0, total = 0;
  EXPECT_TRUE(rc::check([&] {
    Cluster cluster;
    const std::vector<Configuration> configurations = random_space(cluster);
    SearchOptions options;
    options.threads = 1;
    options.keep = any_of<size_t>({1, 5});
    const SearchResult fast = run(configurations, cluster, options);
    options.exhaustive = true;
    const SearchResult whole = run(configurations, cluster, options);
    RC_ASSERT(whole.evaluated.size() == configurations.size());
    RC_ASSERT(best_of(fast, options.keep) == best_of(whole, options.keep));
    RC_ASSERT(front_of(fast) == front_of(whole));
    pruned += fast.pruned;
    total += configurations.size();
  }));
  EXPECT_GT(pruned * 4, total);  // or the property would not say much
}

TEST(Search, NoEstimateIsBelowItsBound) {
  const Cluster cluster = search_test_cluster();
  double sum_of_bounds = 0, sum_of_steps = 0;
  for (const Configuration& configuration : small_space(search_test_job(), cluster, 32)) {
    const double step_ms = estimate(configuration.job, cluster)->step_ms;
    ASSERT_LE(configuration.bound_ms, step_ms) << configuration.id;
    sum_of_bounds += configuration.bound_ms;
    sum_of_steps += step_ms;
  }
  EXPECT_GT(sum_of_bounds, 0.9 * sum_of_steps);  // a bound of nothing would be right too
}

TEST(Search, IsTheSameForAnyNumberOfThreads) {
  const Cluster cluster = search_test_cluster();
  const std::vector<Configuration> configurations = small_space(search_test_job(), cluster, 32);
  std::vector<Outcome> one, four;
  run(configurations, cluster, {.threads = 1}, {}, &one);
  run(configurations, cluster, {.threads = 4}, {}, &four);
  EXPECT_FALSE(one.empty());
  EXPECT_EQ(one, four);
}

TEST(Search, GoesOnWhereItWasStopped) {
  const Cluster cluster = search_test_cluster();
  const std::vector<Configuration> configurations = small_space(search_test_job(), cluster, 32);
  std::vector<Outcome> undisturbed, resumed;
  const SearchResult whole = run(configurations, cluster, {.exhaustive = true, .threads = 1}, {}, &undisturbed);
  ASSERT_GT(undisturbed.size(), 200u);
  int blocks = 0;
  SearchOptions stopped{.exhaustive = true, .threads = 1};
  stopped.stopped = [&] { return blocks++ == 2; };
  EXPECT_FALSE(run(configurations, cluster, stopped, {}, &resumed).complete);
  ASSERT_LT(resumed.size(), undisturbed.size());
  resumed.resize(resumed.size() - 3);  // a kill need not come between blocks
  KnownOutcomes known;
  for (const Outcome& outcome : resumed) known[outcome.id] = outcome;
  const SearchResult rest = run(configurations, cluster, {.exhaustive = true, .threads = 1}, known, &resumed);
  EXPECT_EQ(resumed, undisturbed);
  EXPECT_EQ(front_of(rest), front_of(whole));
  EXPECT_EQ(rest.known, known.size());
}

TEST(Search, PartsTogetherHoldWhatTheWholeNeeds) {
  const Cluster cluster = search_test_cluster();
  const std::vector<Configuration> configurations = small_space(search_test_job(), cluster, 32);
  KnownOutcomes parts;
  for (int64_t index = 1; index <= 3; ++index) {
    std::vector<Outcome> part;
    run(configurations, cluster, {.threads = 1, .shard = {index, 3}}, {}, &part);
    for (const Outcome& outcome : part) EXPECT_TRUE(parts.try_emplace(outcome.id, outcome).second);
  }
  std::vector<Outcome> missing;
  const SearchResult joined = run(configurations, cluster, {.threads = 1}, parts, &missing);
  EXPECT_TRUE(missing.empty());
  const SearchResult whole = run(configurations, cluster, {.threads = 1});
  EXPECT_EQ(best_of(joined, 20), best_of(whole, 20));
  EXPECT_EQ(front_of(joined), front_of(whole));
}

TEST(Search, NothingIsAnAnswer) {
  const SearchResult result = run({}, search_test_cluster(), {});
  EXPECT_TRUE(result.complete);
  EXPECT_TRUE(result.evaluated.empty());
  EXPECT_TRUE(result.front.empty());
}

}  // namespace
}  // namespace lumos

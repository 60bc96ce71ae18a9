#include "lumos/search/refine.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "lumos/plan/flops.h"
#include "lumos/search/front.h"

namespace lumos {
namespace {

constexpr size_t kTriesPerWanted = 4;

/// The coarse outcome with what the simulation says instead. The bubble is a part of the waiting that a simulation does
/// not tell apart; it grows with the step.
Outcome simulated_outcome(std::string id, const Job& job, const Anchor& anchor, const Outcome& coarse,
                          const StepFigures& figures) {
  Outcome outcome = coarse;
  outcome.id = std::move(id);
  outcome.simulated = true;
  outcome.estimated_ms = coarse.step_ms;
  outcome.step_ms = figures.step_ms;
  outcome.tokens_per_s = tokens_per_step(job) / (figures.step_ms / 1e3);
  outcome.mfu_pct = mfu_pct(job, figures.step_ms, anchor.cluster.gpu);
  outcome.exposed_comm_ms = figures.exposed_comm_ms;
  outcome.bubble_ms = std::min(figures.exposed_comm_ms, coarse.bubble_ms * figures.step_ms / coarse.step_ms);
  return outcome;
}

/// The median of what the simulated ones took by their estimate.
double correction_of(const std::vector<Evaluated>& evaluated) {
  std::vector<double> ratios;
  for (const Evaluated& each : evaluated) {
    if (each.outcome.simulated && each.outcome.estimated_ms > 0)
      ratios.push_back(each.outcome.step_ms / each.outcome.estimated_ms);
  }
  if (ratios.empty()) return 1;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

void correct(double factor, Outcome& outcome) {
  for (double* grows : {&outcome.step_ms, &outcome.bubble_ms, &outcome.exposed_comm_ms}) *grows *= factor;
  for (double* shrinks : {&outcome.tokens_per_s, &outcome.mfu_pct}) *shrinks /= factor;
}

/// Sorts `evaluated` and finds the front.
void rank_again(SearchResult& result) {
  std::vector<size_t> order(result.evaluated.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto key = [&](size_t i) {
    const Outcome& outcome = result.evaluated[i].outcome;
    return std::tuple(!outcome.fits, !outcome.simulated, outcome.step_ms, outcome.peak_gib, result.evaluated[i].index);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  std::vector<Evaluated> sorted;
  for (size_t i : order) sorted.push_back(std::move(result.evaluated[i]));
  result.evaluated = std::move(sorted);
  std::vector<Outcome> outcomes;
  for (const Evaluated& each : result.evaluated) outcomes.push_back(each.outcome);
  result.front = pareto_front(outcomes);
}

}  // namespace

Result<std::vector<Refusal>> refine(SearchResult& result, const std::vector<Configuration>& configurations,
                                    const Anchor& anchor, const KnownOutcomes& known, const RefineOptions& options,
                                    const SimulateJob& simulate, const SaveOutcomes& save) {
  const std::string context = search_context(anchor) + " simulated";
  std::vector<Refusal> refusals;
  size_t tries = kTriesPerWanted * options.count;
  double best_ms = std::numeric_limits<double>::infinity();
  for (Evaluated& each : result.evaluated) {
    // Estimates may be too short: what still looks better than the best that was simulated is simulated too.
    const bool could_be_best = each.outcome.step_ms < best_ms;
    if (options.count == 0 || tries == 0 || !each.outcome.fits) break;
    if (result.simulated >= options.count && !could_be_best) break;
    if (options.stopped()) {
      result.complete = false;
      break;
    }
    --tries;
    options.report(result.simulated, options.count);
    const Job& job = configurations[each.index].job;
    std::string id = config_id(job, context);
    if (const auto found = known.find(id); found != known.end()) {
      each.outcome = found->second;
    } else {
      const Result<StepFigures> figures = simulate(job);
      if (!figures) {
        refusals.push_back({each.index, figures.error().message});
        continue;
      }
      each.outcome = simulated_outcome(std::move(id), job, anchor, each.outcome, *figures);
      TRY_STATUS(save({each}));
    }
    best_ms = std::min(best_ms, each.outcome.step_ms);
    ++result.simulated;
  }
  result.correction = correction_of(result.evaluated);
  for (Evaluated& each : result.evaluated) {
    if (!each.outcome.simulated) correct(result.correction, each.outcome);
  }
  rank_again(result);
  return refusals;
}

}  // namespace lumos

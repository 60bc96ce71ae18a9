// The second look of a search: the best of what was estimated is simulated in full, task by task, and ranked again by
// what that gives. Made for the command line, after search; how a job is simulated is the caller's, from traces or from
// a synthesized program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lumos/program/step_figures.h"
#include "lumos/search/search.h"

namespace lumos {

/// Simulates one job. Errors say why it cannot be; the search goes on with the next.
using SimulateJob = std::function<Result<StepFigures>(const Job&)>;

struct RefineOptions {
  size_t count = 10;  ///< how many to simulate: the best that can be
  std::function<bool()> stopped = [] { return false; };
  std::function<void(size_t done, size_t total)> report = [](size_t, size_t) {};
};

/// A configuration that could not be simulated.
struct Refusal {
  size_t index = 0;  ///< of the configurations
  std::string reason;
};

/// Replaces the outcomes of the best that fit by simulated ones and sorts `result` again: simulated ones first, by
/// their step, then the rest by its estimate. What was only estimated is multiplied by what the simulated ones took
/// more than their estimates, in the median (SearchResult::correction), and the front is found anew. Known outcomes are
/// taken instead of simulating. More than `count` are simulated while an estimate is below the best of them, and others
/// are tried where some cannot be: at most four times `count` in all. Errors are those of `save`.
Result<std::vector<Refusal>> refine(SearchResult& result, const std::vector<Configuration>& configurations,
                                    const Anchor& anchor, const KnownOutcomes& known, const RefineOptions& options,
                                    const SimulateJob& simulate, const SaveOutcomes& save);

}  // namespace lumos

// Evaluates the configurations that could matter. They are gone through in the order of their lower bounds; what does
// not fit is left out, and so is what cannot be among the best nor on the front any more. Made for the command line,
// which says where results go; the outcome is the same for any number of threads, and after any number of
// interruptions.
//
// Why pruning loses nothing: a configuration is left out when (1) `keep` evaluated ones have a step below its bound, so
// its own step, which is not below the bound, is not among the `keep` shortest; and (2) an evaluated one that has no
// more memory and GPUs has a step below its bound, so that one dominates it and it is not on the front. What dominates
// is itself on the front or dominated by a member of it, so the front of the evaluated is the front of all.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lumos/search/configuration.h"
#include "lumos/search/outcome.h"
#include "lumos/search/shard.h"

namespace lumos {

/// Outcomes of earlier runs by the id of their configuration.
using KnownOutcomes = std::unordered_map<std::string, Outcome>;

/// Where a search is.
struct SearchState {
  size_t done = 0;          ///< evaluated, taken from earlier runs or left out
  size_t total = 0;         ///< of this shard
  double best_step_ms = 0;  ///< 0: nothing that fits yet
};

struct SearchOptions {
  size_t keep = 20;         ///< how many of the shortest steps must be right
  bool exhaustive = false;  ///< evaluate everything, also what does not fit
  int threads = 0;          ///< 0: all processors
  Shard shard = {};
  std::function<bool()> stopped = [] { return false; };  ///< asked between blocks
  std::function<void(const SearchState&)> report = [](const SearchState&) {};
};

/// One evaluated configuration.
struct Evaluated {
  size_t index = 0;  ///< of the configurations
  Outcome outcome;
};

/// Takes the new outcomes of a block, in the order of the search.
using SaveOutcomes = std::function<Status(const std::vector<Evaluated>&)>;

struct SearchResult {
  std::vector<Evaluated> evaluated;  ///< shortest step first; what does not fit after what does
  std::vector<size_t> front;         ///< of them, by index into `evaluated`
  size_t does_not_fit = 0;           ///< left out for memory
  size_t pruned = 0;                 ///< left out by bound
  size_t known = 0;                  ///< of the evaluated, taken from earlier runs
  size_t simulated = 0;              ///< of the evaluated, looked at a second time; see refine.h
  double correction = 1;             ///< of what is only estimated, by what was simulated; see refine.h
  bool complete = true;              ///< false: stopped before the end
};

/// Errors are those of `save`.
Result<SearchResult> search(const std::vector<Configuration>& configurations, const Anchor& anchor,
                            const KnownOutcomes& known, const SearchOptions& options, const SaveOutcomes& save);

}  // namespace lumos

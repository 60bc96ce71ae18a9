// How much shorter the step gets when one thing gets faster: each candidate simulated as it would run 10 % faster,
// twice as fast, and for free. Made from a linked job and its candidates; tabled by report/gains_result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "lumos/graph/job/job.h"
#include "lumos/sim/timeline.h"
#include "lumos/whatif/gains/candidates.h"

namespace lumos {

/// The step of a timeline in nanoseconds. What a step is, the caller knows.
using StepOf = std::function<double(const Timeline&)>;

/// Gains of one candidate. Nanoseconds of the step.
struct Gain {
  uint32_t candidate = 0;  ///< index into the candidates
  double tenth_ns = 0;     ///< 10 % faster: its time times 0.9
  double half_ns = 0;      ///< twice as fast
  double free_ns = 0;
  double peers_ns = 0;  ///< as fast as its peers; 0: not notably slower than these
  /// The share of its time that must go for nine tenths of what free gains: beyond it another path decides. 1 where
  /// the gain is in proportion to the end.
  double ends_after = 1;

  /// What is within reach: a tenth faster, or where others show that more is possible, as fast as they.
  double reach_ns() const { return std::max(tenth_ns, peers_ns); }
};

struct GainOptions {
  double least_share = 1e-3;  ///< of the step: who has less time than this, or gains less when free, is left out
  int threads = 0;
  std::stop_token stop;  ///< once asked for, trials that have not begun are left out: the gains are worth nothing
};

/// Gains of the candidates that gain anything, largest first: by what is within reach, then by what free
/// gives. Only the
/// durations of a candidate's tasks change, and what follows from them: room on the GPU, waiting for untraced members.
/// Interference is left out, so that free >= half >= tenth holds. One pass over the graph per trial, in parallel.
std::vector<Gain> find_gains(const LinkedJob& job, const std::vector<Candidate>& candidates, const StepOf& step_of,
                             const GainOptions& options);

/// The job's graph with one candidate's time multiplied by `factor`.
ExecGraph with_candidate(const LinkedJob& job, const Candidate& candidate, double factor);

}  // namespace lumos

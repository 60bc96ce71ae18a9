// A job as if it had run on a cluster: the ranks of program/synth/synthesize meet in their collectives and messages,
// are lowered and simulated, and become event tables, one per rank. Used by `lumos synth`, by the demo and by tests
// that want a trace whose truth is known.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/exec_graph.h"
#include "lumos/program/synth/synthesize.h"
#include "lumos/sim/timeline.h"

namespace lumos {

struct SyntheticOptions {
  int steps = 2;
  std::vector<int64_t> ranks;  ///< whose tables are wanted, ascending
  double jitter_sigma = 0;     ///< of the logarithm of each kernel's and transfer's duration
  uint64_t seed = 1;           ///< of the jitter
};

struct SyntheticJob {
  std::vector<int64_t> simulated;  ///< one pipeline; with jitter, every pipeline that a wanted rank is part of
  Program program;                 ///< of the simulated ranks
  ExecGraph graph;
  Timeline timeline;
};

/// One rank of every stage, or every rank of the job.
std::vector<int64_t> ranks_of_stages(const Job& job);
std::vector<int64_t> all_ranks(const Job& job);

/// Deterministic in `options`. Without jitter the replicas of a stage do the same at the same times, so one pipeline
/// stands for all. Errors (kUsage): check_synthesis, and ranks that the job does not have.
Result<SyntheticJob> simulate_job(const Job& job, const Cluster& cluster, const SyntheticOptions& options);

/// The table of `rank`, which may be one that another stands for. Times are simulated ones; `made` comes back as it
/// was.
EventTable synthetic_table(SyntheticJob& made, const Job& job, const Cluster& cluster, int64_t rank, int steps);

/// Mean length of the ProfilerSteps of a table, in ms.
double step_ms(const EventTable& table);

}  // namespace lumos

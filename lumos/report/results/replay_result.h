// What `lumos replay` answers: per rank and for the job, the measured step beside the replayed one, and how far they
// are apart. Made from a graph and its timeline; rendered by replay_render, read by report and accuracy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/report/figures/breakdown.h"
#include "lumos/report/figures/utilisation.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// One chosen step of one rank.
struct StepResult {
  std::string name;
  Window measured;  ///< on the trace's clock
  Window replayed;  ///< on the simulation's clock
};

struct LeftOutStep {
  std::string name;
  std::string reason;
};

struct DependencyCounts {
  uint64_t cpu_cpu = 0;
  uint64_t inter_thread = 0;
  uint64_t launch = 0;
  uint64_t sync = 0;
  uint64_t stream = 0;
  uint64_t inter_stream_recorded = 0;
  uint64_t inter_stream_inferred = 0;
  uint64_t queue = 0;
  uint64_t issue_order = 0;
  uint64_t room = 0;  ///< waits for room on the GPU
  uint64_t rendezvous = 0;
};

/// A breakdown in milliseconds per step.
struct BreakdownMs {
  double exposed_compute = 0;
  double overlapped = 0;
  double exposed_comm = 0;
  double other = 0;
};

/// Times are per step: means over the chosen steps. Without a chosen step all of them are 0.
struct RankResult {
  int32_t rank = 0;
  std::string file;
  double measured_ms = 0;
  double replayed_ms = 0;
  double kernel_start_mae_us = 0;
  double unexplained_ms = 0;            ///< on the critical path of the replay
  double unexplained_measured_ms = 0;   ///< on that of the measured run: what it waited for and the replay does not
  double utilisation_mae = 0;           ///< of the share of time in which a stream executes, 0 to 1
  double weighted_utilisation_mae = 0;  ///< of the curve weighted by the SMs that the grids can fill
  double utilisation_measured = 0;      ///< mean over the step
  double utilisation_replayed = 0;
  uint64_t cpu_tasks = 0;
  uint64_t gpu_tasks = 0;
  DependencyCounts dependencies;
  std::vector<Constant> constants;
  std::vector<StepResult> steps;
  std::vector<LeftOutStep> left_out;
  BreakdownMs measured;
  BreakdownMs replayed;
};

struct ReplayResult {
  bool strict = true;
  double measured_ms = 0;  ///< mean over the ranks
  double replayed_ms = 0;
  std::optional<double> measured_span_ms;  ///< first start to last end over ranks; only where clocks are comparable
  std::optional<double> replayed_span_ms;
  BreakdownMs measured;
  BreakdownMs replayed;
  std::vector<RankResult> ranks;
  uint64_t input_events = 0;
  uint64_t input_repaired = 0;
  uint64_t input_skipped = 0;
  uint64_t input_cut_short = 0;  ///< files that end in the middle
  uint64_t input_bytes = 0;
};

struct ReplayResultOptions {
  bool strict = true;  ///< the graph was simulated without residuals
  int threads = 0;     ///< ranks are read in parallel; 0: the processors of this machine
  /// Per rank, what to add to its trace time to get the job's common clock. Empty: unknown.
  std::vector<int64_t> clock_offset_ns;
};

/// (replayed - measured) / measured in percent; NaN when nothing was measured.
double error_percent(double measured_ms, double replayed_ms);

/// Reads everything off `timeline`, which simulates `graph`.
ReplayResult replay_result(const ExecGraph& graph, const Timeline& timeline, const ReplayResultOptions& options);

}  // namespace lumos

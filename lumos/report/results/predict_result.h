// What `lumos predict` answers: the step of a changed job beside the unchanged one, both simulated, and what was
// changed. Rendered as text and as lumos.predict.v1.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/exec_graph.h"
#include "lumos/model/job/job.h"
#include "lumos/report/figures/rank_curve.h"
#include "lumos/report/figures/work_use.h"
#include "lumos/report/results/replay_result.h"
#include "lumos/trace/table/kernel_family.h"
#include "lumos/whatif/times/spread.h"

namespace lumos {

/// One change as the user wrote it, and how much it touched.
struct AppliedChange {
  std::string text;
  uint64_t tasks = 0;
  double time_ms = 0;              ///< of these tasks before the change, over all ranks and the whole trace
  std::vector<std::string> notes;  ///< what was assumed
};

/// What a prediction of another configuration says beyond times.
struct JobFigures {
  Job job;  ///< the changed one
  double tokens_per_s = 0;
  double tflops_per_gpu = 0;
  std::optional<double> mfu_pct;  ///< absent where the GPU's peak is not known
};

/// The spread of the predicted step when times vary by chance.
struct JitterResult {
  bool fitted = false;  ///< the spread is that of the trace
  double sigma = 0;     ///< of kernels
  double link_sigma = 0;
  double rank_sigma = 0;  ///< of a rank from step to step, beyond its kernels'
  uint64_t samples = 0;   ///< 0: not asked
  uint64_t seed = 0;
  double mean_ms = 0;
  double p50_ms = 0;
  double p95_ms = 0;
};

/// GPU work of one family, over all ranks and the whole trace.
struct FamilyTime {
  KernelFamily family = KernelFamily::kOther;
  uint64_t tasks = 0;
  double base_ms = 0;
  double predicted_ms = 0;
};

struct PredictResult {
  double measured_ms = 0;  ///< of the traces
  double base_ms = 0;      ///< simulated without the changes
  double predicted_ms = 0;
  double p10_ms = 0;  ///< over the steps of the traces, or the seeds of a prediction
  double p90_ms = 0;
  BreakdownMs base;
  BreakdownMs breakdown;
  double base_kernel_ms = 0;      ///< compute kernels and copies, per step and rank
  double kernel_ms = 0;           ///< the same with the changes
  WorkUse work;                   ///< of the predicted step
  std::vector<RankCurve> curves;  ///< likewise, by rank
  double base_unprofiled_ms = 0;  ///< simulated without what the profiler itself cost the CPU
  double predicted_unprofiled_ms = 0;
  /// From the end of one step to the end of the next: what a step takes where the windows of steps overlap.
  double base_run_ms = 0;
  double predicted_run_ms = 0;
  std::vector<FamilyTime> families;  ///< compute only; empty for a changed job
  JitterResult jitter;
  std::vector<AppliedChange> changes;
  std::optional<JobFigures> job;  ///< of a changed job; absent when only times were scaled
  std::vector<std::string> warnings;
};

struct PredictOptions {
  double jitter_sigma = 0;       ///< 0: no samples, unless fitted
  bool jitter_fitted = false;    ///< `spread` is that of the trace
  std::optional<Spread> spread;  ///< of the tasks; else all vary by jitter_sigma
  uint32_t samples = 100;
  uint64_t seed = 1;
  int threads = 0;
  std::stop_token stop;  ///< once asked for, samples are left out and the result is worth nothing

  bool jitters() const { return jitter_sigma > 0 || jitter_fitted; }
};

/// Simulates both graphs and compares. `changed` has the tasks of `base` in the same order, with other durations or
/// dependencies; it is simulated with the interference that `base` shows.
PredictResult predict_result(const ExecGraph& base, ExecGraph changed, const PredictOptions& options);

/// The changed run, simulated as predict_result does, as trace files; see write_replayed_trace.
Result<std::vector<std::string>> write_predicted_trace(const ExecGraph& base, ExecGraph changed,
                                                       const std::string& path);

/// Figures of a job whose step takes `step_ms` on GPUs called `device`.
JobFigures job_figures(const Job& job, double step_ms, std::string_view device);

std::string predict_text(const PredictResult& result);
std::string predict_json(const PredictResult& result);

}  // namespace lumos

// From the traces of one configuration to the step of another: recover, change, lower, simulate. The way in for
// commands, search and Python.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/model/job/job.h"
#include "lumos/program/lower/plan.h"
#include "lumos/program/measure/network.h"
#include "lumos/program/step_figures.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// One simulation of the changed job, and the row that each task came from.
struct ForecastRun {
  const ExecGraph& graph;
  const Timeline& timeline;
  const std::vector<TaskOrigin>& origins;
};

/// Mean over the seeds, and their spread.
struct Forecast {
  StepFigures mean;
  double p10_ms = 0;
  double p90_ms = 0;
};

struct ForecastOptions {
  int seeds = 8;  ///< simulations to average over; each draws its own repetitions
  uint64_t first_seed = 0;
  int threads = 0;           ///< 0: the processors of this machine; the result does not depend on it
  bool interference = true;  ///< kernels and transfers slow each other down where they overlap in the changed run
  bool tables = false;       ///< also give one run of the changed job as tables
  bool variability = true;   ///< false: waiting for the slowest member does not change with the number of members
  /// Of the traced job, where an earlier forecast from the same recovery with the same seeds has found it.
  std::optional<Forecast> unchanged;
  bool network_given = false;  ///< a cluster file, not a default, tells the network where the traces do not
  std::stop_token stop;        ///< once asked for, the forecast ends with kInterrupted after the runs under way
  /// Shown every simulation that the prediction of the changed job averages over, by the number of its seed from 0.
  /// Called from several threads at once.
  std::function<void(size_t, const ForecastRun&)> look;
};

struct JobForecast {
  Job base;
  Job target;
  double measured_ms = 0;  ///< of the traces: mean step over ranks and whole steps
  Forecast unchanged;      ///< the traced job, recovered and lowered like the changed one
  Forecast changed;
  Network network;  ///< as fitted
  /// Of each simulated rank, where asked for: the run whose step is nearest to the mean.
  std::vector<EventTable> tables;
  std::vector<std::string> warnings;
};

/// Whether forecast() can predict `target` from traces of `base`; the error (kUsage) says what no trace shows.
Status can_forecast(const Job& base, const Job& target);

/// Predicts the step of `target` from the traced job. Errors: kUsage for what cannot be lowered yet or is impossible.
Result<JobForecast> forecast(const Recovery& recovery, const Job& target, const ForecastOptions& options);

}  // namespace lumos

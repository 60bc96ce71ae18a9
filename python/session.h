// What the Python classes Job and Timeline do, without Python: each operation is the one that the command of the same
// name composes, so that its JSON is that of `--json`. Bound by python/module.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lumos/cli/arguments/change_arguments.h"
#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/cli/commands/predict_job.h"
#include "lumos/report/results/replay_result.h"
#include "python/tables.h"

namespace lumos {

/// The result of a command: what it prints with --json, and what it prints for people.
struct Answer {
  std::string json;
  std::string text;
};

/// A loaded job. Copies share it.
struct LoadedJob {
  ReadArguments read;
  bool inter_stream = true;
  std::shared_ptr<const LinkedJob> job;

  int threads() const { return static_cast<int>(read.threads); }
  const ExecGraph& graph() const { return job->linked.graph; }
  std::shared_ptr<const ExecGraph> shared_graph() const { return {job, &job->linked.graph}; }
};

/// A replayed job and the figures read off it. Copies share it.
struct ReplayedJob {
  LoadedJob loaded;
  Replayed replayed;
  std::shared_ptr<const ReplayResult> result;
};

/// What `lumos predict` is asked without a job file.
struct PredictRequest {
  ChangeArguments changes;
  std::string jitter;  ///< as --jitter takes it; empty: none
  int64_t samples = 100;
  int64_t seed = 1;
  std::string out;  ///< as --out takes it; empty: no trace is written
};

Result<LoadedJob> load(ReadArguments read, bool inter_stream, Console& console);
Result<ReplayedJob> replay(const LoadedJob& loaded, const std::string& steps, bool keep_residuals);
Answer replay_answer(const ReplayedJob& timeline);

Answer inspect(const LoadedJob& loaded);
Answer link_answer(const LoadedJob& loaded);
/// `all` is what --all does: the text has every row.
Result<Answer> gains(const LoadedJob& loaded, bool all, Console& console);
Answer stragglers(const LoadedJob& loaded);
/// `prediction` is what a command printed with --json, `label` stands for it in messages.
Result<Answer> validate(const LoadedJob& loaded, const std::string& prediction, const std::string& label, bool all);
Result<Answer> predict(const LoadedJob& loaded, const PredictRequest& request, Console& console);
/// Reads the traces again: a program is recovered from ranks that are not linked.
Result<Answer> predict_configuration(const LoadedJob& loaded, const JobChange& change, Console& console);

/// What `lumos critical-path` is asked; rank and step -1 for its defaults.
struct PathRequest {
  int64_t rank = -1;
  int64_t step = -1;
  bool measured = false;  ///< walk the recorded run
  std::string overlay;    ///< as --overlay takes it; empty: no trace is written
};

Result<Answer> critical_path(const ReplayedJob& timeline, const PathRequest& request);
/// The HTML report; `against` is a path as `--against` takes it, or empty. Gains take longest.
Result<std::string> report(const ReplayedJob& timeline, int64_t rank, int64_t step, const std::string& against,
                           bool with_gains, Console& console);

}  // namespace lumos

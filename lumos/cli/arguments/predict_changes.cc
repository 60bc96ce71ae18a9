#include "lumos/cli/arguments/predict_changes.h"

#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace lumos {

namespace {

/// What the traces cannot show, said beside the number.
std::vector<std::string> warnings_of(const LinkedJob& job) {
  std::vector<std::string> warnings;
  const MatchCounts& counts = job.matches.counts;
  if (counts.refused > 0) {
    warnings.push_back(
        fmt::format("{} communication kernels look matched by order but their ends disagree; they are "
                    "not linked",
                    counts.refused));
  }
  if (counts.alone > 0) {
    warnings.push_back(
        fmt::format("{} of {} communication kernels have members that are not traced; how long these "
                    "are waited for follows the compute of the ranks that are",
                    counts.alone, counts.kernels));
  }
  return warnings;
}

constexpr int64_t kMostSamples = 100'000;  // minutes even for a small job; more is a slip of the keyboard

}  // namespace

Status set_jitter(JitterArguments& arguments, const std::string& text) {
  arguments.fitted = text == "fitted";
  if (text.empty() || arguments.fitted) return {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), arguments.sigma);
  if (error == std::errc() && end == text.data() + text.size()) return {};
  return fail(ErrorKind::kUsage, "--jitter: '{}' is neither fitted nor a number, as in 0.05 for 5 %", text);
}

Result<PredictOptions> predict_options(const JitterArguments& arguments) {
  if (!(arguments.sigma >= 0 && arguments.sigma <= 1)) {
    return fail(ErrorKind::kUsage, "--jitter must be from 0 to 1, as in 0.05 for 5 %");
  }
  if (arguments.samples < 1 || arguments.samples > kMostSamples) {
    return fail(ErrorKind::kUsage, "--samples must be from 1 to {}", kMostSamples);
  }
  PredictOptions options;
  options.jitter_sigma = arguments.sigma;
  options.jitter_fitted = arguments.fitted;
  options.samples = static_cast<uint32_t>(arguments.samples);
  options.seed = static_cast<uint64_t>(arguments.seed);
  options.threads = static_cast<int>(arguments.threads);
  return options;
}

Status check_something_changes(const ChangeList& changes, const PredictOptions& options) {
  if (!changes.empty() || options.jitters()) return {};
  return fail(
      ErrorKind::kUsage,
      "predict: say what changes, as in --scale kernel:.*gemm.*=0.5, or --job job.toml --set data_parallel_size=8");
}

Result<PredictResult> predict_changes(const LinkedJob& job, const ChangeList& changes, const PredictOptions& options) {
  const ScaledGraph changed = TRY(apply_changes(job, changes));
  PredictOptions with_spread = options;
  if (options.jitter_fitted) with_spread.spread = fit_spread(job);
  PredictResult result = predict_result(job.linked.graph, changed.graph, with_spread);
  for (const ScaleMatch& match : changed.matches) {
    result.changes.push_back({match.text, match.tasks, match.time_ms, match.notes});
  }
  for (std::string& warning : warnings_of(job)) result.warnings.push_back(std::move(warning));
  return result;
}

}  // namespace lumos

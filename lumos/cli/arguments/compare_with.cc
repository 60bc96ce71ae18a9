#include "lumos/cli/arguments/compare_with.h"

#include <filesystem>

#include "lumos/base/file.h"
#include "lumos/report/results/prediction_file.h"
#include "lumos/sim/simulate.h"

namespace lumos {

namespace {

constexpr uintmax_t kLargestPrediction = 16 << 20;  // Traces are larger; small ones are told apart by content.

PageComparison as_comparison(Prediction prediction) {
  PageComparison comparison;
  comparison.name = "predicted";
  comparison.source = prediction.file;
  comparison.step_ms = prediction.step_ms;
  comparison.breakdown = prediction.breakdown;
  comparison.curves = std::move(prediction.curves);
  comparison.work = std::move(prediction.work);
  return comparison;
}

Result<PageComparison> compare_with_run(const std::string& against, ReadArguments read, const ExecGraph& graph,
                                        Console& console) {
  read.paths = {against};
  const LinkedJob job = TRY(load_for(read, BuildOptions{}, console));
  TRY_STATUS(check_something_ran(job));
  const ExecGraph& other = job.linked.graph;
  ReplayResultOptions options;
  options.threads = static_cast<int>(read.threads);
  options.clock_offset_ns = job.clock_offsets_ns();
  const ReplayResult result = replay_result(other, simulate(other), options);
  PageComparison comparison;
  comparison.name = "other run";
  comparison.source = against;
  comparison.step_ms = result.measured_ms;
  comparison.breakdown = result.measured;
  comparison.diff = diff(measured_side(graph, "here"), measured_side(other, against), options.threads);
  return comparison;
}

}  // namespace

// A prediction is a small JSON object; whatever is none is read as traces.
Result<PageComparison> compare_with(const std::string& against, const ReadArguments& read, const ExecGraph& graph,
                                    Console& console) {
  std::error_code error;
  const auto size_bytes = std::filesystem::file_size(against, error);
  if (!error && size_bytes <= kLargestPrediction) {
    const std::string text = TRY(read_file(against));
    if (is_prediction(text)) return as_comparison(TRY(read_prediction(text, against)));
  }
  return compare_with_run(against, read, graph, console);
}

}  // namespace lumos

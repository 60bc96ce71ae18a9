#include "lumos/report/results/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "lumos/report/figures/busy.h"
#include "lumos/sim/simulate.h"

namespace lumos {

namespace {

std::vector<ValidationLine> compare_components(const BreakdownMs& predicted, const BreakdownMs& measured) {
  const auto line = [](const char* name, double predicted_ms, double measured_ms) {
    ValidationLine out;
    out.name = name;
    out.predicted_ms = predicted_ms;
    out.measured_ms = measured_ms;
    return out;
  };
  return {line("exposed compute", predicted.exposed_compute, measured.exposed_compute),
          line("overlapped", predicted.overlapped, measured.overlapped),
          line("exposed communication", predicted.exposed_comm, measured.exposed_comm),
          line("other", predicted.other, measured.other)};
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// What both sides say about the job and do not agree on.
std::vector<std::string> contradictions(const Prediction& prediction, const ExecGraph& graph) {
  std::vector<std::string> warnings;
  if (!prediction.job) return warnings;
  for (const RankTasks& rank : graph.ranks) {
    const TraceInfo& info = rank.table->info;
    if (info.world_size <= 0 || info.world_size == prediction.job->world_size) continue;
    warnings.push_back(fmt::format("the prediction is of {} GPUs, {} is of {}: not the same job",
                                   prediction.job->world_size, info.file, info.world_size));
    break;
  }
  return warnings;
}

}  // namespace

std::vector<ValidationLine> compare_shares(const std::vector<WorkShare>& predicted,
                                           const std::vector<WorkShare>& measured) {
  std::map<std::string, ValidationLine> lines;
  for (const WorkShare& share : predicted) {
    ValidationLine& line = lines[share.name];
    line.predicted_ms += share.total_ms();
    line.predicted_wait_ms += share.wait_ms;
  }
  for (const WorkShare& share : measured) {
    ValidationLine& line = lines[share.name];
    line.measured_ms += share.total_ms();
    line.measured_wait_ms += share.wait_ms;
  }
  std::vector<ValidationLine> out;
  for (auto& [name, line] : lines) {
    line.name = name;
    out.push_back(std::move(line));
  }
  const auto error_ns = [](const ValidationLine& line) { return std::llround(1e6 * std::abs(line.error_ms())); };
  std::stable_sort(out.begin(), out.end(), [&](const ValidationLine& a, const ValidationLine& b) {
    if (error_ns(a) != error_ns(b)) return error_ns(a) > error_ns(b);
    return a.measured_ms > b.measured_ms;
  });
  return out;
}

Validation validate(const Prediction& prediction, const LinkedJob& job, int threads) {
  const ExecGraph& graph = job.linked.graph;
  ReplayResultOptions options;
  options.threads = threads;
  const ReplayResult measured = replay_result(graph, simulate(graph), options);

  Validation result;
  result.prediction_file = prediction.file;
  result.p10_ms = prediction.p10_ms;
  result.p90_ms = prediction.p90_ms;
  result.warnings = contradictions(prediction, graph);
  result.step.name = "step";
  result.step.predicted_ms = prediction.step_ms;
  result.step.measured_ms = measured.measured_ms;
  result.components = compare_components(prediction.breakdown, measured.measured);
  for (size_t r = 0; r < measured.ranks.size() && !prediction.curves.empty(); ++r) {
    const RankResult& rank = measured.ranks[r];
    if (rank.steps.empty()) continue;
    const RankCurve& curve = prediction.curves[curve_for(prediction.curves, rank.rank, r, measured.ranks.size())];
    result.utilisation.push_back({rank.rank, curve.rank, mean(curve.curve.busy), rank.utilisation_measured});
  }
  if (!prediction.work) return result;
  result.has_work = true;
  result.waits_apart = !prediction.job;
  const Job* as_job = prediction.job ? &*prediction.job : nullptr;
  const WorkUse work = measured_work_use(graph, work_source(graph, as_job, threads));
  result.templates = compare_shares(prediction.work->templates, work.templates);
  result.families = compare_shares(prediction.work->families, work.families);
  result.collectives = compare_shares(prediction.work->collectives, work.collectives);
  return result;
}

}  // namespace lumos

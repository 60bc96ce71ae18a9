#include "python/session.h"

#include <limits>
#include <utility>

#include "lumos/base/parallel.h"
#include "lumos/cli/arguments/compare_with.h"
#include "lumos/cli/arguments/find_step.h"
#include "lumos/cli/arguments/predict_changes.h"
#include "lumos/cli/arguments/step_range.h"
#include "lumos/cli/commands/critical_path.h"
#include "lumos/report/figures/measured_timeline.h"
#include "lumos/report/page/page.h"
#include "lumos/report/results/gains_result.h"
#include "lumos/report/results/path_table.h"
#include "lumos/report/results/stragglers.h"
#include "lumos/report/results/validation.h"
#include "lumos/report/text/inventory_render.h"
#include "lumos/report/text/link_report.h"
#include "lumos/report/text/replay_render.h"
#include "lumos/sim/keep_residuals.h"
#include "lumos/sim/simulate.h"

namespace lumos {

namespace {

// A screen, as the commands have it.
constexpr size_t kTextRows = 25;
constexpr size_t kValidationRows = 12;  // of each of its four tables

size_t rows_of_text(bool all, size_t rows) { return all ? std::numeric_limits<size_t>::max() : rows; }

}  // namespace

Result<LoadedJob> load(ReadArguments read, bool inter_stream, Console& console) {
  BuildOptions build;
  build.inter_stream = inter_stream;
  auto job = std::make_shared<const LinkedJob>(TRY(load_for(read, build, console)));
  return LoadedJob{std::move(read), inter_stream, std::move(job)};
}

Result<ReplayedJob> replay(const LoadedJob& loaded, const std::string& steps, bool keep) {
  ReplayedJob out;
  out.loaded = loaded;
  out.replayed.graph = loaded.shared_graph();
  if (!steps.empty()) {
    const StepRange range = TRY(parse_step_range(steps));
    auto chosen = std::make_shared<ExecGraph>(*out.replayed.graph);
    TRY_STATUS(choose_steps(*chosen, range));
    out.replayed.graph = std::move(chosen);
  }
  if (keep) out.replayed.graph = std::make_shared<const ExecGraph>(keep_residuals(*out.replayed.graph));
  out.replayed.timeline = std::make_shared<const Timeline>(simulate(*out.replayed.graph));
  ReplayResultOptions options;
  options.strict = !keep;
  options.threads = loaded.threads();
  options.clock_offset_ns = loaded.job->clock_offsets_ns();
  out.result =
      std::make_shared<const ReplayResult>(replay_result(*out.replayed.graph, *out.replayed.timeline, options));
  return out;
}

Answer replay_answer(const ReplayedJob& timeline) {
  return {replay_json(*timeline.result), replay_text(*timeline.result)};
}

Answer inspect(const LoadedJob& loaded) {
  const std::vector<RankTasks>& tasks = loaded.graph().ranks;
  std::vector<InspectedRank> ranks(tasks.size());
  parallel_for(ranks.size(), loaded.threads(), [&](size_t r) {
    ranks[r] = {take_inventory(*tasks[r].table), tasks[r].constants};
  });
  std::vector<UnreadFile> unread;
  for (const TraceSet::Failure& failure : loaded.job->failures) unread.push_back({failure.file, failure.error.message});
  return {inventory_json(ranks, unread), inventory_text(ranks)};
}

Answer link_answer(const LoadedJob& loaded) {
  const LinkReport report = link_report(*loaded.job);
  return {link_json(report), link_text(report)};
}

Result<Answer> gains(const LoadedJob& loaded, bool all, Console& console) {
  GainsOptions options;
  options.threads = loaded.threads();
  options.stop = console.stop;
  const GainsResult result = gains_result(*loaded.job, options);
  if (console.stop.stop_requested()) return fail_interrupted();
  return Answer{gains_json(result), gains_text(result, rows_of_text(all, kTextRows))};
}

Answer stragglers(const LoadedJob& loaded) {
  const Stragglers found = find_stragglers(*loaded.job, loaded.threads());
  return {stragglers_json(found), stragglers_text(found)};
}

Result<Answer> validate(const LoadedJob& loaded, const std::string& prediction, const std::string& label, bool all) {
  const Validation result = validate(TRY(read_prediction(prediction, label)), *loaded.job, loaded.threads());
  return Answer{validation_json(result), validation_text(result, rows_of_text(all, kValidationRows))};
}

Result<Answer> predict(const LoadedJob& loaded, const PredictRequest& request, Console& console) {
  const ChangeList changes = TRY(change_list(request.changes));
  JitterArguments jitter;
  jitter.samples = request.samples;
  jitter.seed = request.seed;
  jitter.threads = loaded.read.threads;
  TRY_STATUS(set_jitter(jitter, request.jitter));
  PredictOptions options = TRY(predict_options(jitter));
  options.stop = console.stop;
  TRY_STATUS(check_something_changes(changes, options));
  if (!request.out.empty()) {
    const ScaledGraph changed = TRY(apply_changes(*loaded.job, changes));
    TRY(write_predicted_trace(loaded.graph(), changed.graph, request.out));
  }
  const PredictResult result = TRY(predict_changes(*loaded.job, changes, options));
  if (console.stop.stop_requested()) return fail_interrupted();
  return Answer{predict_json(result), predict_text(result)};
}

Result<Answer> predict_configuration(const LoadedJob& loaded, const JobChange& change, Console& console) {
  const PredictResult result = TRY(predict_job(loaded.read, change, console));
  return Answer{predict_json(result), predict_text(result)};
}

Result<Answer> critical_path(const ReplayedJob& timeline, const PathRequest& request) {
  const ExecGraph& graph = *timeline.replayed.graph;
  const uint32_t rank_index = TRY(find_rank(graph, request.rank));
  const Step& chosen = graph.ranks[rank_index].steps[TRY(find_step(graph, rank_index, request.step))];
  const CriticalPath path = request.measured ? critical_path(graph, measured_timeline(graph), rank_index, chosen)
                                             : critical_path(graph, *timeline.replayed.timeline, rank_index, chosen);
  if (!request.overlay.empty()) TRY_STATUS(write_overlay(graph, rank_index, chosen, path, request.overlay));
  return Answer{critical_path_json(graph, rank_index, chosen, path),
                critical_path_text(graph, rank_index, chosen, path, kTextRows)};
}

Result<std::string> report(const ReplayedJob& timeline, int64_t rank, int64_t step, const std::string& against,
                           bool with_gains, Console& console) {
  const ExecGraph& graph = *timeline.replayed.graph;
  const uint32_t rank_index = TRY(find_rank(graph, rank));
  PageInput input{*timeline.loaded.job, *timeline.replayed.timeline, *timeline.result, rank_index};
  input.threads = timeline.loaded.threads();
  input.step = TRY(find_step(graph, rank_index, step));
  if (!against.empty()) input.comparison = TRY(compare_with(against, timeline.loaded.read, graph, console));
  if (with_gains) {
    GainsOptions options;
    options.threads = timeline.loaded.threads();
    options.stop = console.stop;
    input.gains = gains_result(*timeline.loaded.job, options);
    if (console.stop.stop_requested()) return fail_interrupted();
  }
  return report_page(input);
}

}  // namespace lumos

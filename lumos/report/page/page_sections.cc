#include "lumos/report/page/page_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lumos/base/parallel.h"
#include "lumos/report/figures/busy.h"
#include "lumos/report/figures/critical_path.h"
#include "lumos/report/figures/kernel_use.h"
#include "lumos/report/figures/steps.h"
#include "lumos/report/figures/utilisation.h"
#include "lumos/report/page/html.h"
#include "lumos/report/page/lane_picture.h"
#include "lumos/report/page/page_charts.h"
#include "lumos/report/results/path_table.h"
#include "lumos/report/text_table.h"
#include "lumos/sim/replayed_table.h"

namespace lumos {

namespace {

// What fits a page that people read; the commands print all of it.
constexpr size_t kTopKernels = 25;
constexpr size_t kLongestPieces = 20;
constexpr size_t kTopTasks = 15;
constexpr size_t kOpenSteps = 24;  // a longer table of steps is folded

// 16 ranks of five streams then stay under 2 MB, and the drawing without script under 1 MB.
constexpr size_t kMostBoxes = 60'000;
constexpr size_t kMostDrawnBoxes = 20'000;

const RankTasks& shown_rank(const PageInput& input) { return input.graph().ranks[input.rank_index]; }
const Step& shown_step(const PageInput& input) { return shown_rank(input).steps[input.step]; }

std::string folded(bool fold, const std::string& summary, const std::string& body) {
  return fold ? fmt::format("<details><summary>{}</summary>\n{}</details>\n", summary, body) : body;
}

std::string shown_note(const PageInput& input, std::string_view what) {
  return fmt::format("<p>Rank {}, {}{}.</p>\n", shown_rank(input).rank, html_escape(shown_step(input).name), what);
}

std::string percent(double part, double whole) {
  return whole > 0 ? html_data(100 * part / whole, fmt::format("{:.1f} %", 100 * part / whole)) : "-";
}

double ms_of(int64_t ns) { return static_cast<double>(ns) / 1e6; }

std::string figure(const char* name, const std::string& value, const char* unit, const std::string& note) {
  return fmt::format("<div><dt>{}</dt><dd><b>{}</b> {}<small>{}</small></dd></div>\n", name, value, unit, note);
}

/// The step of each rank to draw: that of the shown name, else the chosen one in the middle.
std::vector<uint32_t> steps_to_draw(const PageInput& input) {
  std::vector<uint32_t> steps;
  for (const RankTasks& rank : input.graph().ranks) {
    const std::vector<uint32_t> chosen = chosen_steps(rank);
    uint32_t step = chosen.empty() ? kNoIndex : chosen[(chosen.size() - 1) / 2];
    for (uint32_t s = 0; s < rank.steps.size(); ++s) {
      if (rank.steps[s].name == shown_step(input).name) step = s;
    }
    steps.push_back(step);
  }
  return steps;
}

/// What recovery finds each rank to have run when in the steps that are drawn.
std::vector<std::vector<PassBox>> schedules_of(const PageInput& input, const std::vector<uint32_t>& steps) {
  const ExecGraph& graph = input.graph();
  std::vector<std::vector<PassBox>> schedules(graph.ranks.size());
  parallel_for(graph.ranks.size(), input.threads, [&](size_t r) {
    if (steps[r] == kNoIndex) return;
    const RankTasks& rank = graph.ranks[r];
    const Window window = simulated_window(input.timeline, rank.steps[steps[r]]);
    schedules[r] = schedule_boxes(graph, input.timeline, static_cast<uint32_t>(r), window,
                                  recover(*rank.table, hints_from_groups(*rank.table)));
  });
  return schedules;
}

std::string_view cause_class(PathCause cause) {
  switch (cause) {
    case PathCause::kCompute:
      return "compute";
    case PathCause::kCommunication:
      return "communication";
    case PathCause::kWaitForRank:
      return "wait";
    case PathCause::kLaunch:
    case PathCause::kDispatch:
      return "launch";
    case PathCause::kHost:
    case PathCause::kCall:
    case PathCause::kUntracedHost:
    case PathCause::kSync:
      return "host";
    case PathCause::kUnexplained:
    case PathCause::kCount:
      break;
  }
  return "unexplained";
}

HtmlTable share_table(const std::string& caption, const std::vector<PathShare>& shares, int64_t whole_ns, size_t most) {
  HtmlTable table(caption, {{"cause", false}, {"what", false}, {"ms"}, {"share"}, {"pieces"}});
  PathShare rest;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (i >= most) {
      rest.time_ns += shares[i].time_ns;
      rest.pieces += shares[i].pieces;
      continue;
    }
    table.add({html_escape(path_cause_name(shares[i].cause)), html_name(shares[i].label),
               html_ms(ms_of(shares[i].time_ns)), percent(ms_of(shares[i].time_ns), ms_of(whole_ns)),
               html_count(shares[i].pieces)});
  }
  if (shares.size() > most) {
    table.add({fmt::format("{} more", shares.size() - most), "", html_ms(ms_of(rest.time_ns)),
               percent(ms_of(rest.time_ns), ms_of(whole_ns)), html_count(rest.pieces)});
  }
  return table;
}

std::string path_bar(const CriticalPath& path, const std::vector<PathShare>& by_cause) {
  std::vector<BarPart> parts;
  for (std::string_view css_class : {"compute", "communication", "wait", "launch", "host", "unexplained"}) {
    double ms = 0;
    for (const PathShare& share : by_cause) {
      if (cause_class(share.cause) == css_class) ms += ms_of(share.time_ns);
    }
    parts.push_back({css_class, fmt::format("{}: {} ms", css_class, human_ms(ms)), ms});
  }
  const double whole_ms = ms_of(path.window.length_ns());
  return stacked_bar("critical path", html_ms(whole_ms) + " ms", parts, whole_ms) +
         legend({{"compute", "compute"},
                 {"communication", "communication"},
                 {"wait", "waiting for a rank"},
                 {"launch", "launch latency and gaps between kernels"},
                 {"host", "host: operators, calls, synchronisation"},
                 {"unexplained", "unexplained"}});
}

std::string longest_pieces(const PageInput& input, const CriticalPath& path) {
  std::vector<PathPiece> pieces = path.pieces;
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const PathPiece& a, const PathPiece& b) { return a.length_ns() > b.length_ns(); });
  if (pieces.size() > kLongestPieces) pieces.resize(kLongestPieces);
  HtmlTable table("The longest pieces", {{"task", false}, {"cause", false}, {"begins at ms"}, {"ms"}});
  for (const PathPiece& piece : pieces) {
    table.add({html_name(piece_label(input.graph(), piece)), html_escape(path_cause_name(piece.cause)),
               html_ms(ms_of(piece.from_ns - path.window.start_ns)), html_ms(ms_of(piece.length_ns()))});
  }
  return table.text();
}

}  // namespace

std::string key_figures(const PageInput& input) {
  const ReplayResult& result = input.result;
  const RankResult& rank = result.ranks[input.rank_index];
  const double unexplained_pct = rank.replayed_ms > 0 ? 100 * rank.unexplained_ms / rank.replayed_ms : 0;
  std::string out = "<dl class=\"figures\">\n";
  out += figure("measured step", html_ms(result.measured_ms), "ms",
                result.ranks.size() == 1 ? "of one rank" : fmt::format("mean of {} ranks", result.ranks.size()));
  out += figure("replayed step", html_ms(result.replayed_ms), "ms",
                html_signed_percent(error_percent(result.measured_ms, result.replayed_ms)) + " off");
  if (input.comparison) {
    out += figure("compared step", html_ms(input.comparison->step_ms), "ms",
                  fmt::format("{}, {}<br>{}", html_escape(input.comparison->name),
                              html_signed_percent(error_percent(result.measured_ms, input.comparison->step_ms)),
                              html_escape(input.comparison->source)));
  }
  out += figure("kernel starts", html_data(rank.kernel_start_mae_us, fmt::format("{:.1f}", rank.kernel_start_mae_us)),
                "us off", fmt::format("mean of rank {}", rank.rank));
  out += figure("unexplained", html_data(unexplained_pct, fmt::format("{:.2f}", unexplained_pct)), "%",
                fmt::format("of the step of rank {}", rank.rank));
  return out + "</dl>\n";
}

std::string step_times_section(const PageInput& input) {
  HtmlTable table("Steps", {{"step", false}, {"measured ms"}, {"replayed ms"}, {"difference"}});
  size_t count = 0;
  double longest_ms = 0;
  for (const RankResult& rank : input.result.ranks) {
    longest_ms = std::max({longest_ms, rank.measured_ms, rank.replayed_ms});
    for (const StepResult& step : rank.steps) {
      const double measured_ms = ms_of(step.measured.length_ns());
      const double replayed_ms = ms_of(step.replayed.length_ns());
      table.add({fmt::format("rank {}, {}", rank.rank, html_escape(step.name)), html_ms(measured_ms),
                 html_ms(replayed_ms), html_signed_percent(error_percent(measured_ms, replayed_ms))});
      ++count;
    }
  }
  std::string bars;
  for (const RankResult& rank : input.result.ranks) {
    const auto part = [&](const char* run, double ms) {
      return BarPart{run, fmt::format("rank {} {}: {} ms", rank.rank, run, human_ms(ms)), ms};
    };
    bars += overlaid_bar(fmt::format("rank {}", rank.rank),
                         fmt::format("{} / {} ms", html_ms(rank.measured_ms), html_ms(rank.replayed_ms)),
                         {part("measured", rank.measured_ms), part("replayed", rank.replayed_ms)}, longest_ms);
  }
  return html_section("steps", "Step times",
                      "<p>Mean step of each rank, measured / replayed.</p>\n<div class=\"thin pair\">\n" + bars +
                          "</div>\n" + legend({{"measured", "measured, filled"}, {"replayed", "replayed, dashed"}}) +
                          folded(count > kOpenSteps, fmt::format("All {} steps", count), table.text()));
}

std::string breakdown_section(const PageInput& input) {
  std::vector<RunBreakdown> runs = {{"measured", input.result.measured, input.result.measured_ms},
                                    {"replayed", input.result.replayed, input.result.replayed_ms}};
  if (input.comparison) {
    runs.push_back({input.comparison->name, input.comparison->breakdown, input.comparison->step_ms});
  }
  HtmlTable table(
      "Milliseconds per step, mean over the ranks",
      {{"run", false}, {"exposed compute"}, {"overlapped"}, {"exposed communication"}, {"other"}, {"step"}});
  for (const RunBreakdown& run : runs) {
    table.add({html_escape(run.name), html_ms(run.breakdown.exposed_compute), html_ms(run.breakdown.overlapped),
               html_ms(run.breakdown.exposed_comm), html_ms(run.breakdown.other), html_ms(run.step_ms)});
  }
  return html_section("breakdown", "Where the step goes",
                      breakdown_chart(runs) +
                          legend({{"compute", "exposed compute"},
                                  {"overlapped", "compute and communication at once"},
                                  {"communication", "exposed communication"},
                                  {"other", "neither"}}) +
                          table.text());
}

std::string utilisation_section(const PageInput& input) {
  const RankTasks& rank = shown_rank(input);
  const Window measured = measured_window(input.graph(), rank, shown_step(input));
  const Window replayed = simulated_window(input.timeline, shown_step(input));
  const EventTable table_replayed = replayed_table(input.graph(), input.timeline, input.rank_index);
  const int64_t interval_ns = utilisation_interval_ns(std::max(measured.length_ns(), replayed.length_ns()));
  std::vector<RunUtilisation> runs = {
      {"measured", utilisation(busy_intervals(*rank.table), measured, interval_ns), measured.length_ns()},
      {"replayed", utilisation(busy_intervals(table_replayed), replayed, interval_ns), replayed.length_ns()}};
  std::vector<std::pair<std::string_view, std::string_view>> words = {{"measured", "measured, line"},
                                                                      {"replayed", "replayed, dashed"}};
  std::string note = ": share of time, per millisecond, in which at least one stream executes";
  if (input.comparison && !input.comparison->curves.empty()) {
    const std::vector<RankCurve>& curves = input.comparison->curves;
    const RankCurve& curve = curves[curve_for(curves, rank.rank, input.rank_index, input.graph().ranks.size())];
    runs.push_back({"predicted", curve.curve, curve.length_ns});
    words.emplace_back("predicted", "predicted, dotted");
    note += fmt::format("; predicted for rank {}", curve.rank);
  }
  HtmlTable table("Mean utilisation over the chosen steps",
                  {{"rank", false}, {"measured %"}, {"replayed %"}, {"curves apart, points"}});
  for (const RankResult& each : input.result.ranks) {
    const auto points = [](double share) { return html_data(share, fmt::format("{:.1f}", 100 * share)); };
    table.add({fmt::format("rank {}", each.rank), points(each.utilisation_measured), points(each.utilisation_replayed),
               html_data(each.utilisation_mae, fmt::format("{:.2f}", 100 * each.utilisation_mae))});
  }
  return html_section("utilisation", "SM utilisation",
                      shown_note(input, note) + utilisation_chart(runs) + legend(words) + table.text());
}

std::string lanes_section(const PageInput& input) {
  const std::vector<uint32_t> steps = steps_to_draw(input);
  const std::vector<std::vector<PassBox>> schedules = schedules_of(input, steps);
  const LanePicture drawn = lane_picture(input.graph(), input.timeline, steps, schedules, kMostDrawnBoxes);
  if (drawn.lanes.empty()) return html_section("lanes", "Streams", "<p>No stream ran anything in this step.</p>\n");
  const LanePicture full = lane_picture(input.graph(), input.timeline, steps, schedules, kMostBoxes);
  std::string out = fmt::format(
      "<p>The replayed run of {} on every stream, {} ms across.</p>\n<div class=\"lanes\">\n"
      "<div id=\"lane-view\">\n{}</div>\n"
      "<div class=\"axis time lanes-axis\" id=\"lane-axis\"><span>0 ms</span><span>{} ms</span></div>\n</div>\n",
      html_escape(shown_step(input).name), human_ms(ms_of(full.length_ns)), lane_html(drawn),
      human_ms(ms_of(full.length_ns)));
  out += legend({{"compute", "compute"},
                 {"communication", "communication"},
                 {"copy", "copies and fills"},
                 {"wait", "waiting for a rank"},
                 {"forward", "forward (F)"},
                 {"backward", "backward (B)"},
                 {"update", "gradient sync, optimizer"}});
  out += "<script type=\"application/json\" id=\"lane-data\">" + html_script_json(lane_json(full)) + "</script>\n";
  return html_section("lanes", "Streams", out);
}

std::string critical_path_section(const PageInput& input) {
  const CriticalPath path = critical_path(input.graph(), input.timeline, input.rank_index, shown_step(input));
  const int64_t whole_ns = path.window.length_ns();
  const std::vector<PathShare> by_cause = path_by_cause(input.graph(), path);
  return html_section("critical-path", "What the step waited for",
                      shown_note(input, ": the chain of tasks that decided its length, in the replayed run") +
                          path_bar(path, by_cause) +
                          share_table("By cause, sums to the step", by_cause, whole_ns, SIZE_MAX).text() +
                          share_table("By task", path_by_task(input.graph(), path), whole_ns, kTopTasks).text() +
                          longest_pieces(input, path));
}

std::string kernels_section(const PageInput& input) {
  const RankTasks& rank = shown_rank(input);
  std::vector<Window> windows;
  for (uint32_t step : chosen_steps(rank)) windows.push_back(measured_window(input.graph(), rank, rank.steps[step]));
  const std::vector<KernelUse> uses = kernel_uses(*rank.table, windows);
  if (uses.empty()) return html_section("kernels", "Kernels", "<p>No GPU work was recorded in the chosen steps.</p>\n");
  int64_t sum_ns = 0;
  for (const KernelUse& use : uses) sum_ns += use.total_ns;
  const auto steps = static_cast<double>(windows.size());
  HtmlTable table(fmt::format("Rank {}, measured, per step", rank.rank),
                  {{"kernel", false}, {"family", false}, {"times"}, {"ms"}, {"share of GPU time"}});
  for (size_t i = 0; i < std::min(uses.size(), kTopKernels); ++i) {
    const double times = static_cast<double>(uses[i].count) / steps;
    table.add({html_name(uses[i].name), html_escape(uses[i].family), html_data(times, fmt::format("{:.4g}", times)),
               html_ms(ms_of(uses[i].total_ns) / steps), percent(ms_of(uses[i].total_ns), ms_of(sum_ns))});
  }
  return html_section("kernels", "Kernels", table.text());
}

std::string trust_section(const PageInput& input) {
  HtmlTable table("The replay beside the measurement, per rank", {{"rank", false},
                                                                  {"step error"},
                                                                  {"kernel starts off, us"},
                                                                  {"unexplained, replayed ms"},
                                                                  {"unexplained, measured ms"},
                                                                  {"between streams, recorded"},
                                                                  {"inferred"}});
  HtmlTable left_out("Steps left out", {{"step", false}, {"reason", false}});
  for (const RankResult& rank : input.result.ranks) {
    table.add(
        {fmt::format("rank {}", rank.rank), html_signed_percent(error_percent(rank.measured_ms, rank.replayed_ms)),
         html_data(rank.kernel_start_mae_us, fmt::format("{:.1f}", rank.kernel_start_mae_us)),
         html_ms(rank.unexplained_ms), html_ms(rank.unexplained_measured_ms),
         html_count(rank.dependencies.inter_stream_recorded), html_count(rank.dependencies.inter_stream_inferred)});
    for (const LeftOutStep& step : rank.left_out) {
      left_out.add({fmt::format("rank {}, {}", rank.rank, html_escape(step.name)), html_escape(step.reason)});
    }
  }
  HtmlTable constants(fmt::format("Constants that rank {} is simulated with", shown_rank(input).rank),
                      {{"constant", false}, {"us"}, {"samples"}});
  for (const Constant& constant : input.result.ranks[input.rank_index].constants) {
    const double us = static_cast<double>(constant.value_ns) / 1e3;
    constants.add({html_escape(constant.name), html_data(us, fmt::format("{:.2f}", us)), html_count(constant.samples)});
  }
  std::string out =
      "<p>The simulation sees how long each task took, what it depended on and a few calibrated constants; never when "
      "a "
      "task began. <i>Unexplained</i> is time on the critical path that no dependency explains.</p>\n" +
      table.text();
  if (!left_out.empty()) out += left_out.text();
  if (!constants.empty()) out += folded(true, "Constants", constants.text());
  const ReplayResult& result = input.result;
  out += fmt::format("<p>Input: {} events, {} repaired, {} skipped{}.</p>\n", html_count(result.input_events),
                     html_count(result.input_repaired), html_count(result.input_skipped),
                     result.input_cut_short == 0
                         ? ""
                         : fmt::format("; {} of {} files cut short", result.input_cut_short, result.ranks.size()));
  return html_section("trust", "How far to trust this", out);
}

}  // namespace lumos

#include "lumos/report/page/search_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lumos/plan/estimate.h"
#include "lumos/report/page/html.h"
#include "lumos/report/page/page_charts.h"
#include "lumos/report/text_table.h"
#include "web_assets.h"

namespace lumos {
namespace {

/// What the picture is drawn in; the page stretches it.
constexpr double kWidth = 1000, kHeight = 400, kRadius = 6;
/// Steps up to this many times the shortest are drawn; far slower ones would press the rest together.
constexpr double kLongestShown = 4;

const Job& job_of(const SearchAnswer& answer, const Evaluated& evaluated) {
  return answer.configurations[evaluated.index].job;
}

/// "2x2x8, VP 2, MB 1, do".
std::string configuration_text(const Job& job) {
  std::string text = split_text(job);
  if (job.virtual_pipeline_model_parallel_size > 1)
    text += fmt::format(", VP {}", job.virtual_pipeline_model_parallel_size);
  text += fmt::format(", MB {}", job.micro_batch_size);
  const std::string options = options_text(job);
  return options.empty() ? text : text + ", " + options;
}

std::vector<char> front_marks(const SearchAnswer& answer) {
  std::vector<char> marks(answer.result.evaluated.size(), 0);
  for (const size_t i : answer.result.front) marks[i] = 1;
  return marks;
}

/// Indexes into `evaluated` that the page lists, best first.
std::vector<size_t> listed_rows(const std::vector<char>& on_front) {
  std::vector<size_t> rows;
  for (size_t i = 0; i < on_front.size(); ++i) {
    if (i < kMostSearchRows || on_front[i]) rows.push_back(i);
  }
  return rows;
}

std::string figure(const char* name, const std::string& value, const std::string& below) {
  return fmt::format("<div><dt>{}</dt><dd><b>{}</b><small>{}</small></dd></div>\n", name, value, below);
}

std::string key_figures(const SearchAnswer& answer) {
  const SearchResult& result = answer.result;
  std::string out = "<dl class=\"figures\">\n";
  if (!result.evaluated.empty()) {
    const Evaluated& best = result.evaluated.front();
    out += figure("Shortest step", html_ms(best.outcome.step_ms) + " ms",
                  html_escape(configuration_text(job_of(answer, best))) +
                      (best.outcome.simulated ? "; simulated" : "; estimated"));
    out += figure("Throughput", html_data(best.outcome.tokens_per_s, fmt::format("{:.0f}", best.outcome.tokens_per_s)),
                  fmt::format("tokens/s, MFU {:.1f} %", best.outcome.mfu_pct));
  }
  if (answer.base && answer.base_ms > 0) {
    out += figure("Traced step", html_ms(answer.base_ms) + " ms",
                  fmt::format("{} on {} GPUs, global batch {}", split_text(*answer.base), answer.base->world_size,
                              answer.base->global_batch_size));
  }
  out += figure("Configurations", html_count(answer.configurations.size()),
                fmt::format("legal; {} evaluated, {} do not fit, {} ruled out by a bound", result.evaluated.size(),
                            result.does_not_fit, result.pruned));
  return out + "</dl>\n";
}

/// A round number a little below `value` / 5: the distance of the lines of an axis.
double axis_step(double value) {
  const double rough = std::max(value, 1e-9) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

/// One point per configuration: memory to the right, time upwards, both from 0.
std::string scatter(const SearchAnswer& answer, const std::vector<size_t>& rows, const std::vector<char>& on_front) {
  const double best_ms = answer.result.evaluated.front().outcome.step_ms;
  double most_ms = 0, most_gib = 0;
  size_t beyond = 0;
  for (const size_t i : rows) {
    const Outcome& outcome = answer.result.evaluated[i].outcome;
    if (outcome.step_ms > kLongestShown * best_ms) {
      ++beyond;
      continue;
    }
    most_ms = std::max(most_ms, outcome.step_ms);
    most_gib = std::max(most_gib, outcome.peak_gib);
  }
  const double ms_step = axis_step(most_ms), gib_step = axis_step(most_gib);
  most_ms = ms_step * std::ceil(most_ms / ms_step), most_gib = gib_step * std::ceil(most_gib / gib_step);
  std::string grid;
  for (double ms = 0; ms <= most_ms * 1.0001; ms += ms_step)
    grid += fmt::format("M0 {:.1f}H{}", kHeight * (1 - ms / most_ms), kWidth);
  std::string points[2];
  for (const size_t i : rows) {
    const Outcome& outcome = answer.result.evaluated[i].outcome;
    if (outcome.step_ms > kLongestShown * best_ms) continue;
    const std::string words =
        fmt::format("{}: {} ms, {:.1f} GiB on {} GPUs", configuration_text(job_of(answer, answer.result.evaluated[i])),
                    human_ms(outcome.step_ms), outcome.peak_gib, outcome.num_gpus);
    const std::string circle =
        fmt::format("<circle{} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title></circle>",
                    on_front[i] ? " class=\"on-front\"" : "", kWidth * outcome.peak_gib / most_gib,
                    kHeight * (1 - outcome.step_ms / most_ms), kRadius, html_escape(words));
    // Only the front is a way into the table: hundreds of stops would be none.
    points[on_front[i] ? 1 : 0] +=
        on_front[i] ? fmt::format("<a href=\"#c{}\" aria-label=\"{}\">{}</a>", i, html_escape(words), circle) : circle;
  }
  std::string out = fmt::format(
      "<div class=\"scatter\"><span class=\"axis\"><span>{:g} ms</span><span>0</span></span>"
      "<svg viewBox=\"0 0 {} {}\" role=\"group\" aria-label=\"Step time against memory\"><path class=\"grid\" "
      "d=\"{}\"/>",
      most_ms, kWidth, kHeight, grid);
  out += points[0] + points[1] +
         fmt::format(
             "</svg><span class=\"axis time\"><span>0</span><span>{:g} GiB on the fullest GPU</span></span></div>\n",
             most_gib);
  if (beyond > 0)
    out += fmt::format("<p>{} more take over {:g} times as long as the best and are not drawn.</p>\n", beyond,
                       kLongestShown);
  return out;
}

std::string front_section(const SearchAnswer& answer, const std::vector<size_t>& rows,
                          const std::vector<char>& on_front) {
  if (rows.empty()) return html_section("front", "Front", "<p>No configuration was evaluated.</p>\n");
  return html_section("front", "Front",
                      "<p>Each point is a configuration; no other is better than a blue one in step, memory and "
                      "number of GPUs at once. Blue points lead to their line of the table.</p>\n" +
                          scatter(answer, rows, on_front));
}

RunBreakdown run_of(const std::string& name, const Estimate& estimate) {
  RunBreakdown run;
  run.name = name;
  run.step_ms = estimate.step_ms;
  run.breakdown.exposed_compute = estimate.breakdown.exposed_compute_ms;
  run.breakdown.overlapped = estimate.breakdown.overlapped_ms;
  run.breakdown.exposed_comm = estimate.breakdown.exposed_comm_ms;
  run.breakdown.other = estimate.breakdown.other_ms;
  return run;
}

/// The best beside the job that was changed, both as estimated, so that they can be compared.
std::string breakdown_section(const SearchAnswer& answer) {
  if (answer.result.evaluated.empty()) return "";
  const Job& best = job_of(answer, answer.result.evaluated.front());
  std::vector<RunBreakdown> runs;
  const auto add = [&](const std::string& name, const Job& job) {
    const Result<Estimate> done = estimate(job, answer.anchor.cluster, answer.anchor.scales);
    if (done) runs.push_back(run_of(name, *done));
  };
  if (answer.base) add("base " + split_text(*answer.base), *answer.base);
  add("best " + split_text(best), best);
  HtmlTable table("Milliseconds of a step, as estimated; mean over the stages",
                  {{"", false}, {"step"}, {"exposed compute"}, {"overlapped"}, {"exposed communication"}, {"other"}});
  for (const RunBreakdown& run : runs) {
    table.add({html_escape(run.name), html_ms(run.step_ms), html_ms(run.breakdown.exposed_compute),
               html_ms(run.breakdown.overlapped), html_ms(run.breakdown.exposed_comm), html_ms(run.breakdown.other)});
  }
  const std::string legend_text = legend({{"compute", "exposed compute"},
                                          {"overlapped", "compute and communication at once"},
                                          {"communication", "exposed communication, waiting for stages included"},
                                          {"other", "other"}});
  return html_section("breakdown", "Where the step goes", breakdown_chart(runs) + legend_text + table.text());
}

std::string configurations_section(const SearchAnswer& answer, const std::vector<size_t>& rows,
                                   const std::vector<char>& on_front) {
  const bool costed = answer.tokens > 0, priced = costed && answer.anchor.cluster.price_per_gpu_hour > 0;
  std::vector<HtmlTable::Column> columns = {{"TPxPPxDP", false}, {"GPUs"},     {"VP"},    {"MB"},  {"options", false},
                                            {"step ms"},         {"tokens/s"}, {"MFU %"}, {"GiB"}, {"bubble %"},
                                            {"communication %"}, {"", false}};
  if (costed) columns.insert(columns.end() - 1, {"GPU-hours"});
  if (priced) columns.insert(columns.end() - 1, {"price"});
  HtmlTable table(
      "Shortest step first. Options: sel, full: recomputation; sp: sequence parallel; do: distributed optimizer",
      std::move(columns));
  for (const size_t i : rows) {
    const Outcome& outcome = answer.result.evaluated[i].outcome;
    const Job& job = job_of(answer, answer.result.evaluated[i]);
    std::string marks = on_front[i] ? "front" : "";
    if (outcome.simulated) marks += marks.empty() ? "simulated" : ", simulated";
    if (!outcome.fits) marks += marks.empty() ? "does not fit" : ", does not fit";
    std::vector<std::string> cells = {fmt::format("<span id=\"c{}\">{}</span>", i, split_text(job)),
                                      std::to_string(outcome.num_gpus),
                                      std::to_string(job.virtual_pipeline_model_parallel_size),
                                      std::to_string(job.micro_batch_size),
                                      options_text(job),
                                      html_ms(outcome.step_ms),
                                      html_data(outcome.tokens_per_s, fmt::format("{:.0f}", outcome.tokens_per_s)),
                                      html_data(outcome.mfu_pct, fmt::format("{:.1f}", outcome.mfu_pct)),
                                      html_data(outcome.peak_gib, fmt::format("{:.1f}", outcome.peak_gib)),
                                      fmt::format("{:.1f}", 100 * outcome.bubble_ms / outcome.step_ms),
                                      fmt::format("{:.1f}", 100 * outcome.exposed_comm_ms / outcome.step_ms),
                                      marks};
    if (costed) cells.insert(cells.end() - 1, fmt::format("{:.0f}", gpu_hours(outcome, answer.tokens)));
    if (priced)
      cells.insert(cells.end() - 1,
                   fmt::format("{:.0f}", training_price(outcome, answer.tokens, answer.anchor.cluster)));
    table.add(cells);
  }
  return html_section("configurations", "Configurations", table.text());
}

std::string title_of(const SearchAnswer& answer) {
  const std::string model =
      answer.base && !answer.base->model_name.empty() ? answer.base->model_name : "configurations";
  return html_escape(fmt::format("{} on {}", model, answer.anchor.cluster.gpu.name));
}

}  // namespace

std::string search_page(const SearchAnswer& answer) {
  const std::string title = title_of(answer);
  const std::vector<char> on_front = front_marks(answer);
  const std::vector<size_t> rows = listed_rows(on_front);
  std::string out = html_head(title);
  out +=
      "<a class=\"skip\" href=\"#configurations\">Skip to the table</a>\n<header><h1>Lumos</h1><p>Search: " + title +
      "</p>\n<nav aria-label=\"Contents\"><ul><li><a href=\"#front\">Front</a></li><li><a href=\"#breakdown\">Where "
      "the step goes</a></li><li><a href=\"#configurations\">Configurations</a></li></ul></nav>\n</header>\n<main>\n";
  if (!answer.result.complete) out += "<p>The search was interrupted; this is what it had found.</p>\n";
  out += key_figures(answer) + front_section(answer, rows, on_front) + breakdown_section(answer) +
         configurations_section(answer, rows, on_front) + "</main>\n<script>\n";
  out += kSearchScript;
  if (!kChartScript.empty()) {
    out += "</script>\n<script>\n";
    out += kChartScript;
  }
  return out + "</script>\n</body>\n</html>\n";
}

}  // namespace lumos

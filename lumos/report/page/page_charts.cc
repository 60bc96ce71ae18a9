#include "lumos/report/page/page_charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "lumos/base/json_writer.h"
#include "lumos/report/page/html.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

constexpr double kBarUnits = 1000;

/// The components of a step, in the order of every bar and legend.
struct Component {
  const char* css_class;
  const char* name;
  double BreakdownMs::*ms;
};
constexpr Component kComponents[] = {{"compute", "exposed compute", &BreakdownMs::exposed_compute},
                                     {"overlapped", "overlapped", &BreakdownMs::overlapped},
                                     {"communication", "exposed communication", &BreakdownMs::exposed_comm},
                                     {"other", "other", &BreakdownMs::other}};

/// Begins the numbers of a chart.
JsonWriter chart_data(std::string_view kind, std::string_view label) {
  JsonWriter json;
  json.begin_object().member("kind", kind).member("label", label);
  return json;
}

/// A drawing with the numbers that a live chart in its place is made of.
std::string live_chart(const std::string& drawing, const JsonWriter& data) {
  return "<div class=\"chart\"><div class=\"drawing\">\n" + drawing + "</div><script type=\"application/json\">" +
         html_script_json(data.text()) + "</script></div>\n";
}

/// Stairs: a share holds for its whole interval; the last one ends with the step.
std::string curve_points(const std::vector<double>& values, int64_t interval_ns, double ns_per_unit) {
  std::string points;
  for (size_t i = 0; i < values.size(); ++i) {
    const double y = 100 * (1 - values[i]);
    const double from = static_cast<double>(static_cast<int64_t>(i) * interval_ns) / ns_per_unit;
    const double to = std::min(kBarUnits, static_cast<double>(static_cast<int64_t>(i + 1) * interval_ns) / ns_per_unit);
    points += fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", from, y, to, y);
  }
  return points;
}

std::string bar(const std::string& name, const std::string& figure, const std::vector<BarPart>& parts, double whole,
                bool stacked) {
  std::string out = fmt::format(
      "<div class=\"bar\"><span class=\"label\">{}</span><svg viewBox=\"0 0 {} 10\" preserveAspectRatio=\"none\" "
      "role=\"img\" aria-label=\"{}\">",
      html_escape(name), static_cast<int>(kBarUnits), html_escape(name));
  double at = 0;
  for (const BarPart& part : parts) {
    const double width = whole > 0 ? kBarUnits * part.value / whole : 0;
    if (width <= 0) continue;
    out += fmt::format("<rect class=\"{}\" x=\"{:.2f}\" width=\"{:.2f}\" height=\"10\"><title>{}</title></rect>",
                       part.css_class, at, width, html_escape(part.title));
    if (stacked) at += width;
  }
  return out + "</svg><span class=\"figure\">" + figure + "</span></div>\n";
}

}  // namespace

std::string stacked_bar(const std::string& name, const std::string& figure, const std::vector<BarPart>& parts,
                        double whole) {
  return bar(name, figure, parts, whole, true);
}

std::string overlaid_bar(const std::string& name, const std::string& figure, const std::vector<BarPart>& parts,
                         double whole) {
  return bar(name, figure, parts, whole, false);
}

std::string breakdown_chart(const std::vector<RunBreakdown>& runs) {
  double longest_ms = 0;
  for (const RunBreakdown& run : runs) longest_ms = std::max(longest_ms, run.step_ms);
  std::string bars;
  JsonWriter json = chart_data("bars", "Where the step of each run goes; the table below has the numbers");
  json.key("parts").begin_array();
  for (const Component& part : kComponents) {
    json.begin_object().member("name", part.name).member("colour", part.css_class).end_object();
  }
  json.end_array().key("runs").begin_array();
  for (const RunBreakdown& run : runs) {
    std::vector<BarPart> parts;
    json.begin_object().member("name", run.name).key("ms").begin_array();
    for (const Component& part : kComponents) {
      const double ms = run.breakdown.*part.ms;
      parts.push_back({part.css_class, fmt::format("{}: {} ms", part.name, human_ms(ms)), ms});
      json.value(ms);
    }
    json.end_array().end_object();
    bars += stacked_bar(run.name, html_ms(run.step_ms) + " ms", parts, longest_ms);
  }
  json.end_array().end_object();
  return live_chart(bars, json);
}

std::string utilisation_chart(const std::vector<RunUtilisation>& runs) {
  int64_t length_ns = 0;
  for (const RunUtilisation& run : runs) length_ns = std::max(length_ns, run.length_ns);
  if (length_ns <= 0) return "<p>The step has no length.</p>\n";
  const double ns_per_unit = static_cast<double>(length_ns) / kBarUnits;
  std::string out =
      "<div class=\"curve\"><span class=\"axis\"><span>100 %</span><span>0 %</span></span>"
      "<svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"SM utilisation over the step\">"
      "<path class=\"grid\" d=\"M0 0H1000M0 50H1000M0 100H1000\"/>";
  JsonWriter json =
      chart_data("curves", "SM utilisation over the step. Arrow keys move, plus and minus zoom, 0 shows all of it");
  json.member("length_ms", static_cast<double>(length_ns) / 1e6).key("runs").begin_array();
  for (const RunUtilisation& run : runs) {
    out += fmt::format("<polyline class=\"{}\" points=\"{}\"/>", run.name,
                       curve_points(run.curve.busy, run.curve.interval_ns, ns_per_unit));
    json.begin_object().member("name", run.name).member("length_ms", static_cast<double>(run.length_ns) / 1e6);
    json.member("interval_ms", static_cast<double>(run.curve.interval_ns) / 1e6).key("busy_pct").begin_array();
    for (double share : run.curve.busy) json.value(100 * share, 1);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  out += fmt::format("</svg><span class=\"axis time\"><span>0 ms</span><span>{} ms</span></span></div>\n",
                     human_ms(static_cast<double>(length_ns) / 1e6));
  return live_chart(out, json);
}

std::string legend(const std::vector<std::pair<std::string_view, std::string_view>>& entries) {
  std::string out = "<ul class=\"legend\">";
  for (const auto& [css_class, words] : entries) {
    out += fmt::format(
        "<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"{}\" width=\"10\" "
        "height=\"10\"/></svg>{}</li>",
        css_class, html_escape(words));
  }
  return out + "</ul>\n";
}

}  // namespace lumos

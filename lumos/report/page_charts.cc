#include "lumos/report/page_charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "lumos/report/html.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

constexpr double kBarUnits = 1000;

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

}  // namespace

std::string stacked_bar(const std::string& name, const std::string& figure, const std::vector<BarPart>& parts,
                        double whole) {
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
    at += width;
  }
  return out + "</svg><span class=\"figure\">" + figure + "</span></div>\n";
}

std::vector<BarPart> breakdown_parts(const BreakdownMs& breakdown) {
  const auto part = [](std::string_view css_class, const char* name, double ms) {
    return BarPart{css_class, fmt::format("{}: {} ms", name, human_ms(ms)), ms};
  };
  return {part("compute", "exposed compute", breakdown.exposed_compute),
          part("overlapped", "overlapped", breakdown.overlapped),
          part("communication", "exposed communication", breakdown.exposed_comm),
          part("other", "other", breakdown.other)};
}

std::string utilisation_chart(const Utilisation& measured, const Utilisation& replayed, int64_t length_ns) {
  if (length_ns <= 0) return "<p>The step has no length.</p>\n";
  const double ns_per_unit = static_cast<double>(length_ns) / kBarUnits;
  std::string out =
      "<div class=\"curve\"><span class=\"axis\"><span>100 %</span><span>0 %</span></span>"
      "<svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"SM utilisation over the step, measured and replayed\">"
      "<path class=\"grid\" d=\"M0 0H1000M0 50H1000M0 100H1000\"/>";
  out += fmt::format("<polyline class=\"measured\" points=\"{}\"/>",
                     curve_points(measured.busy, measured.interval_ns, ns_per_unit));
  out += fmt::format("<polyline class=\"replayed\" points=\"{}\"/></svg>",
                     curve_points(replayed.busy, replayed.interval_ns, ns_per_unit));
  return out + fmt::format("<span class=\"axis time\"><span>0 ms</span><span>{} ms</span></span></div>\n",
                           human_ms(static_cast<double>(length_ns) / 1e6));
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

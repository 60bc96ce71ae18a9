#include "lumos/report/page/page.h"

#include <fmt/format.h>

#include "lumos/report/page/html.h"
#include "lumos/report/page/page_sections.h"
#include "web_assets.h"

namespace lumos {

namespace {

std::string title_of(const PageInput& input) {
  const std::string& file = input.graph().ranks.front().table->info.file;
  const size_t more = input.graph().ranks.size() - 1;
  return more == 0 ? file : fmt::format("{} and {} more", file, more);
}

/// The sections of the page, in order, with the word that leads to each.
struct Part {
  const char* id;
  const char* title;
  std::string (*make)(const PageInput&);
};
constexpr Part kParts[] = {{"steps", "Steps", step_times_section},
                           {"breakdown", "Breakdown", breakdown_section},
                           {"difference", "Difference", difference_section},
                           {"prediction", "Prediction", prediction_section},
                           {"utilisation", "Utilisation", utilisation_section},
                           {"lanes", "Streams", lanes_section},
                           {"critical-path", "Critical path", critical_path_section},
                           {"kernels", "Kernels", kernels_section},
                           {"collectives", "Collectives", collectives_section},
                           {"stragglers", "Stragglers", stragglers_section},
                           {"gains", "Gains", gains_section},
                           {"trust", "Trust", trust_section}};

}  // namespace

std::string report_page(const PageInput& input) {
  const std::string title = html_escape(title_of(input));
  std::string out = html_head(title);
  out += "<a class=\"skip\" href=\"#steps\">Skip to the results</a>\n<header><h1>Lumos</h1><p>" + title + "</p>\n";
  std::string links;
  std::string body;
  for (const Part& part : kParts) {
    const std::string section = part.make(input);
    if (section.empty()) continue;
    links += fmt::format("<li><a href=\"#{}\">{}</a></li>", part.id, part.title);
    body += section;
  }
  out += "<nav aria-label=\"Contents\"><ul>" + links + "</ul></nav>\n</header>\n<main>\n" + key_figures(input) + body;
  out += "</main>\n<script>\n";
  out += kReportScript;
  if (!kChartScript.empty()) {
    out += "</script>\n<script>\n";
    out += kChartScript;
  }
  return out + "</script>\n</body>\n</html>\n";
}

}  // namespace lumos

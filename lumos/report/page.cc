#include "lumos/report/page.h"

#include <fmt/format.h>

#include "lumos/report/html.h"
#include "lumos/report/page_sections.h"
#include "web_assets.h"

namespace lumos {

namespace {

std::string title_of(const PageInput& input) {
  const std::string& file = input.graph.ranks.front().table->info.file;
  const size_t more = input.graph.ranks.size() - 1;
  return more == 0 ? file : fmt::format("{} and {} more", file, more);
}

std::string contents(const PageInput& input) {
  std::string out = "<nav aria-label=\"Contents\"><ul>";
  const auto link = [&](const char* id, const char* title) {
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>", id, title);
  };
  link("steps", "Steps");
  link("breakdown", "Breakdown");
  link("utilisation", "Utilisation");
  link("lanes", "Streams");
  link("critical-path", "Critical path");
  link("kernels", "Kernels");
  link("collectives", "Collectives");
  if (input.comparison && input.comparison->diff) link("difference", "Difference");
  link("trust", "Trust");
  return out + "</ul></nav>\n";
}

}  // namespace

std::string report_page(const PageInput& input) {
  const std::string title = html_escape(title_of(input));
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      // A browser asks for an icon unless the page has one.
      "<link rel=\"icon\" href=\"data:,\">\n<title>Lumos: {}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
      title, kReportCss);
  out += "<a class=\"skip\" href=\"#steps\">Skip to the results</a>\n<header><h1>Lumos</h1><p>" + title + "</p>\n";
  out += contents(input) + "</header>\n<main>\n";
  out += key_figures(input);
  for (const auto& section :
       {step_times_section, breakdown_section, difference_section, utilisation_section, lanes_section,
        critical_path_section, kernels_section, collectives_section, trust_section}) {
    out += section(input);
  }
  out += "</main>\n<script>\n";
  out += kReportScript;
  return out + "</script>\n</body>\n</html>\n";
}

}  // namespace lumos

// The section of the HTML report about what would be worth making faster.
#include <fmt/format.h>

#include <algorithm>

#include "lumos/report/page/html.h"
#include "lumos/report/page/page_sections.h"

namespace lumos {

namespace {

constexpr size_t kTopGains = 25;  // What fits a page that people read; the command prints all of it.

std::string share(double part, double whole) {
  return whole > 0 ? html_data(part, fmt::format("{:.1f} %", 100 * part / whole)) : "-";
}

}  // namespace

std::string gains_section(const PageInput& input) {
  if (!input.gains) return "";
  const GainsResult& gains = *input.gains;
  if (gains.rows.empty()) {
    return html_section("gains", "What would be worth making faster",
                        "<p>No time on the critical path belongs to anything that could be faster.</p>\n");
  }
  HtmlTable table("Milliseconds by which the step would be shorter; time and path in percent of the step",
                  {{"what", false},
                   {"of", false},
                   {"time"},
                   {"on the path"},
                   {"10 % faster"},
                   {"twice as fast"},
                   {"free"},
                   {"ends after"},
                   {"then the path has more of", false}});
  for (size_t i = 0; i < std::min(gains.rows.size(), kTopGains); ++i) {
    const GainRow& row = gains.rows[i];
    const bool ends = row.ends_after < 1;
    table.add({html_name(row.name), html_escape(candidate_kind_name(row.kind)), share(row.time_ms, gains.step_ms),
               share(row.on_path_ms, gains.step_ms), html_ms(row.tenth_ms), html_ms(row.half_ms), html_ms(row.free_ms),
               ends ? fmt::format("{:.0f} %", 100 * row.ends_after) : "-", html_name(row.then)});
  }
  std::string out =
      "<p>Each line is a simulation of the whole job with one thing faster. <i>Ends after</i>: how much of its time "
      "must go for nine tenths of all it can gain; then another path decides.</p>\n" +
      table.text();
  if (gains.rows.size() > kTopGains) {
    out += fmt::format("<p>{} more; lumos gains --all lists them.</p>\n", gains.rows.size() - kTopGains);
  }
  return html_section("gains", "What would be worth making faster", out);
}

}  // namespace lumos

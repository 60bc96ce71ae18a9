// The section of the HTML report about what a prediction says the GPUs will do, beside what they did.
#include <algorithm>

#include "lumos/report/page/html.h"
#include "lumos/report/page/page_sections.h"
#include "lumos/report/results/validation.h"

namespace lumos {

namespace {

constexpr size_t kTopLines = 12;  // What fits a page that people read; the prediction has all of it.

std::string work_table(const char* caption, const std::vector<WorkShare>& predicted,
                       const std::vector<WorkShare>& measured) {
  HtmlTable table(caption, {{"work", false}, {"measured"}, {"predicted"}, {"difference"}});
  const std::vector<ValidationLine> lines = compare_shares(predicted, measured);
  for (size_t i = 0; i < std::min(lines.size(), kTopLines); ++i) {
    table.add({html_name(lines[i].name), html_ms(lines[i].measured_ms), html_ms(lines[i].predicted_ms),
               html_ms(lines[i].error_ms())});
  }
  return table.empty() ? "" : table.text();
}

}  // namespace

std::string prediction_section(const PageInput& input) {
  if (!input.comparison || !input.comparison->work) return "";
  const WorkUse& predicted = *input.comparison->work;
  const WorkUse measured = measured_work_use(input.graph(), work_source(input.graph(), nullptr, input.threads));
  return html_section(
      "prediction", "What the prediction changes",
      "<p>GPU work in milliseconds per step, mean over the ranks; waiting for other ranks is in it. Work that runs "
      "side by side adds up to more than the step.</p>\n" +
          work_table("By template of the program", predicted.templates, measured.templates) +
          work_table("Compute by kernel family", predicted.families, measured.families) +
          work_table("Communication", predicted.collectives, measured.collectives));
}

}  // namespace lumos

// The drawings of the HTML report that need no script: stretched SVG under HTML labels, so that text stays readable at
// any width. Colours are those of the classes in web/report.css: one meaning each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lumos/report/replay_result.h"
#include "lumos/report/utilisation.h"

namespace lumos {

struct BarPart {
  std::string_view css_class;
  std::string title;
  double value = 0;
};

/// A bar of parts under its name; bars of one chart share `whole`, the length of the longest.
std::string stacked_bar(const std::string& name, const std::string& figure, const std::vector<BarPart>& parts,
                        double whole);

/// The parts of a breakdown, in the order of the legend.
std::vector<BarPart> breakdown_parts(const BreakdownMs& breakdown);

/// Curves of utilisation in percent over a step of `length_ns`: measured as a line, replayed dashed.
std::string utilisation_chart(const Utilisation& measured, const Utilisation& replayed, int64_t length_ns);

/// The meaning of colours: css class and words.
std::string legend(const std::vector<std::pair<std::string_view, std::string_view>>& entries);

}  // namespace lumos

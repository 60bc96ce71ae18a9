// The charts of the HTML report as drawings that need no script: stretched SVG under HTML labels, so that text stays
// readable at any width. Those of runs carry their numbers for web/charts.js, which puts live charts in their place.
// Colours are those of the classes in web/report.css: one meaning each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lumos/report/figures/utilisation.h"
#include "lumos/report/results/replay_result.h"

namespace lumos {

struct BarPart {
  std::string_view css_class;
  std::string title;
  double value = 0;
};

/// A bar of parts under its name; bars of one chart share `whole`, the length of the longest.
std::string stacked_bar(const std::string& name, const std::string& figure, const std::vector<BarPart>& parts,
                        double whole);

/// The same with all parts beginning at 0, one over the other.
std::string overlaid_bar(const std::string& name, const std::string& figure, const std::vector<BarPart>& parts,
                         double whole);

/// The utilisation of one run; its style is that of its name: measured, replayed or predicted.
struct RunUtilisation {
  std::string_view name;
  Utilisation curve;
  int64_t length_ns = 0;  ///< of its step
};

/// Curves in percent over the step of one rank: measured as a line, replayed dashed, predicted dotted.
std::string utilisation_chart(const std::vector<RunUtilisation>& runs);

/// A run and where its step goes.
struct RunBreakdown {
  std::string name;
  BreakdownMs breakdown;
  double step_ms = 0;
};

/// One bar per run, on one scale.
std::string breakdown_chart(const std::vector<RunBreakdown>& runs);

/// The meaning of colours: css class and words.
std::string legend(const std::vector<std::pair<std::string_view, std::string_view>>& entries);

}  // namespace lumos

// The sections of the HTML report, each a piece of HTML under its heading. Assembled by report/page.
#pragma once

#include <string>

#include "lumos/report/page/page.h"

namespace lumos {

/// Measured and replayed step, their difference, and what the replay leaves open: the figures at the top.
std::string key_figures(const PageInput& input);
std::string step_times_section(const PageInput& input);
std::string breakdown_section(const PageInput& input);
std::string utilisation_section(const PageInput& input);
std::string lanes_section(const PageInput& input);
std::string critical_path_section(const PageInput& input);
std::string kernels_section(const PageInput& input);
std::string collectives_section(const PageInput& input);
/// Empty for a single rank, or where no two ranks wait for each other.
std::string stragglers_section(const PageInput& input);
/// Empty without a comparison that says what became slower.
std::string difference_section(const PageInput& input);
/// Empty without a prediction that tells its work.
std::string prediction_section(const PageInput& input);
/// Empty when gains were not asked for.
std::string gains_section(const PageInput& input);
std::string trust_section(const PageInput& input);

}  // namespace lumos

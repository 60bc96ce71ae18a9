// The answer of a search as an HTML page: the front as a picture, a table to filter, and where the step of the best
// configuration goes beside that of the job that was changed. One file, no network, readable without script.
#pragma once

#include <string>

#include "lumos/report/text/search_render.h"

namespace lumos {

/// The whole document. The table holds the kMostSearchRows best and all of the front.
std::string search_page(const SearchAnswer& answer);

inline constexpr size_t kMostSearchRows = 500;

}  // namespace lumos

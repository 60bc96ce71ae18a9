// The answer of a search as text for people and as JSON for programs: how many configurations there were, the best, and
// the front.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lumos/search/search.h"
#include "lumos/search/space.h"

namespace lumos {

/// What a search was asked and what it found. References: the caller keeps the parts.
struct SearchAnswer {
  const std::vector<Configuration>& configurations;
  const SearchResult& result;
  const Cluster& cluster;
  const Enumeration& enumeration;  ///< its jobs are not read
  std::vector<std::string> names;  ///< settings to show of each configuration
  size_t top = 10;                 ///< 0: all
  double tokens = 0;               ///< of the training run to cost; 0: none
  std::optional<Job> base;         ///< the job that was changed, where there is one
  double base_ms = 0;              ///< its measured step; 0: it was not traced
};

/// The best configurations and the front, 80 columns.
std::string search_text(const SearchAnswer& answer);

/// One object, schema lumos.search.v1.
std::string search_json(const SearchAnswer& answer);

}  // namespace lumos
